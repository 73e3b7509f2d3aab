package fslocal

// foldKey makes names equal that are one file to the filesystem whatever they
// hold. On Linux no two are.
func foldKey(path string) string { return path }
