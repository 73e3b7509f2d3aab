package fslocal

import "io/fs"

// chmodDir sets the permission bits of a directory.
func (d *Dir) chmodDir(name string, mode uint32) error {
	if name == "" {
		name = "."
	}
	return d.root.Chmod(name, fs.FileMode(mode))
}
