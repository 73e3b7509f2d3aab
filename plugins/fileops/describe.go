package fileops

import "slices"

// Operation describes an operation to whoever builds an interface for people.
type Operation struct {
	Name  string
	About string
	// Switch is the name in [Config.Allow] that turns it on and off.
	Switch string
	// Path is the argument that the hub's path stands for; "" for none.
	Path string
	// Changes tells that it changes files.
	Changes   bool
	Arguments []Argument
}

// Argument describes one argument of an operation.
type Argument struct {
	Name  string
	About string
	// Type is its JSON type: "string", "integer", "boolean", "object", "array"
	// (of strings) or "array of objects".
	Type string
	// Required tells that a call without it fails.
	Required bool
	Enum     []string
	// Default is what leaving it out means; nil where that is more than a value.
	Default any
}

// Operations describes all operations, in the order in which they are named
// to the model.
func Operations() []Operation {
	all := make([]Operation, len(operations))
	for i, op := range operations {
		d := Operation{Name: op.name, About: op.about, Switch: op.enable, Path: op.path, Changes: op.changes}
		for _, f := range op.fields {
			d.Arguments = append(d.Arguments, Argument{
				Name: f.name, About: f.about, Type: string(f.kind), Required: f.required && !f.lenient,
				Enum: slices.Clone(f.enum), Default: f.def,
			})
		}
		all[i] = d
	}
	return all
}
