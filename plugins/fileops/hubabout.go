package fileops

import (
	"slices"
	"strings"
)

const hubAbout = "Work on files and directories. Send the operation, the path it is about, and its other arguments as the JSON object config. " +
	"A failed call says in error_kind what went wrong, in retry_disposition whether to send it again, and in correct_call a call that would do."

// configLegend explains how the arguments of an operation are written.
const configLegend = "\n\nOperations and their config. * must be given; int and bool are types, a|b are choices, [] is an array of strings, [{}] one of objects; what has none of these is a string."

// common are the arguments that most changing operations have; commonMark
// stands for all of them.
var common = []string{"allow_ignored", "allow_sensitive", "create_backup", "backup_label", "backup_root"}

const (
	commonMark  = "+"
	commonAbout = "\n\n" + commonMark + " stands for allow_ignored bool and allow_sensitive bool, which let a call change what .gitignore matches or what may be secret, " +
		"and create_backup bool (default true), backup_label and backup_root, of the backup that rollback_file restores."
)

// hubDescription tells a model of all operations that are enabled: the schema
// of the hub's config cannot, for it differs from one to the other.
func (o *ops) hubDescription() string {
	var b strings.Builder
	b.WriteString(hubAbout + configLegend)
	marked := false
	for _, op := range operations {
		if !o.cfg.allows(op.enable) {
			continue
		}
		b.WriteString("\n- " + op.name + ": " + op.about)
		args, shared := op.configAbout()
		marked = marked || shared
		if len(args) > 0 {
			b.WriteString(" config: " + strings.Join(args, ", "))
		}
	}
	if marked {
		b.WriteString(commonAbout)
	}
	return b.String()
}

// configAbout are the arguments of an operation but its path, and whether the
// common ones are among them.
func (op *operation) configAbout() (args []string, shared bool) {
	shared = !slices.ContainsFunc(common, func(name string) bool { return op.field(name) == nil })
	for i := range op.fields {
		f := &op.fields[i]
		if f.name != op.path && !(shared && slices.Contains(common, f.name)) {
			args = append(args, f.brief())
		}
	}
	if shared {
		args = append(args, commonMark)
	}
	return args, shared
}

// brief is an argument with its type, as far as that is not a plain string.
func (f *field) brief() string {
	s := f.name
	if f.required && (!f.lenient || f.def == nil) {
		s += "*"
	}
	switch f.kind {
	case integer:
		s += " int"
	case boolean:
		s += " bool"
	case texts:
		s += " []"
		if f.words != nil {
			s += " of " + strings.Join(f.words, "|")
		}
	case object:
		s += " {}"
	case objects:
		s += " [{" + f.membersAbout() + "}]"
	}
	if f.enum != nil {
		s += " " + strings.Join(f.enum, "|")
	}
	if f.hint != "" {
		s += " (" + f.hint + ")"
	}
	return s
}

func (f *field) membersAbout() string {
	var names []string
	for _, m := range f.members {
		s := m.name
		if m.required {
			s += "*"
		}
		if m.hint != "" {
			s += " (" + m.hint + ")"
		}
		names = append(names, s)
	}
	return strings.Join(names, ", ")
}
