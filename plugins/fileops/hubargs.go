package fileops

import (
	"maps"
	"strings"
)

// merge puts the hub's path and config together to the operation's arguments.
// With a failure they are what can be kept of the caller's.
func (op *operation) merge(given map[string]any) (map[string]any, *failure) {
	args := map[string]any{}
	var problem *failure
	note := func(f *failure) {
		if problem == nil {
			problem = f
		}
	}
	config, given := takeConfig(given, note)
	maps.Copy(args, config)
	if v := args["path"]; v != nil && op.path != "" && op.field("path") == nil {
		note(badArgument("path", "the path of %s belongs beside config, not into it", op.name))
		delete(args, "path")
		if args[op.path] == nil {
			args[op.path] = v
		}
	}
	for _, k := range sortedKeys(given) {
		if k == "operation" || k == "path" || k == "config" {
			continue
		}
		note(op.stray(k))
		if _, twice := args[k]; !twice {
			args[k] = given[k]
		}
	}
	op.mergePath(args, given["path"], note)
	return args, problem
}

// takeConfig returns the config of the caller, or what was meant as such, and the
// other arguments.
func takeConfig(given map[string]any, note func(*failure)) (config, rest map[string]any) {
	if given["config"] == nil {
		other := configStandIn(given)
		if other == "" {
			return nil, given
		}
		note(badArgument(other, "the hub takes operation, path and config, not %q; did you mean %q?", other, "config"))
		config, _ = given[other].(map[string]any)
		return config, leaving(given, other)
	}
	const must = "config must be a JSON object"
	switch c := given["config"].(type) {
	case map[string]any:
		return c, given
	case string:
		// What the string holds is what was meant.
		if config, _ = parseObject([]byte(c)); config != nil {
			note(badArgument("config", must+", not a string with one"))
			return config, given
		}
	}
	note(badArgument("config", must))
	return nil, given
}

// stray is the failure of an argument beside path and config.
func (op *operation) stray(name string) *failure {
	switch {
	case name == op.path:
		return badArgument(name, "the hub takes %s as path", name)
	case op.field(name) == nil:
		f := op.unknownArgument(name)
		f.Message = "the hub takes operation, path and config, and " + f.Message
		return f
	}
	return badArgument(name, "%s belongs into config", name)
}

// mergePath puts the hub's path to the arguments of the operation.
func (op *operation) mergePath(args map[string]any, given any, note func(*failure)) {
	path, ok := given.(string)
	switch {
	case given == nil:
	case !ok:
		note(badArgument("path", "path must be a string"))
		if op.path != "" && args[op.path] == nil {
			args[op.path] = given
		}
	case op.path == "":
		if path != "" {
			note(badArgument("path", "%s takes no path", op.name))
		}
	default:
		other := args[op.path]
		if other != nil && other != any(path) {
			note(badArgument(op.path, "config.%s is %s, but path is %q; send one of them", op.path, encode(other), path))
		}
		args[op.path] = path
	}
}

// configStandIn finds an object that was probably meant to be config, or "".
func configStandIn(given map[string]any) string {
	for _, name := range sortedKeys(given) {
		if _, isObject := given[name].(map[string]any); isObject && meant(name, []string{"config"}) != "" {
			return name
		}
	}
	return ""
}

func leaving(given map[string]any, name string) map[string]any {
	rest := maps.Clone(given)
	delete(rest, name)
	return rest
}

// inHub has a failure speak of the hub's path.
func (op *operation) inHub(f *failure) *failure {
	if op.path == "" || f.Field != op.path {
		return f
	}
	for _, prefix := range []string{op.name + " needs ", ""} {
		if rest, ok := strings.CutPrefix(f.Message, prefix+op.path+" "); ok {
			told := *f
			told.Message = prefix + "path " + rest
			return &told
		}
	}
	return f
}

// hubField is where the caller of the hub finds an argument.
func (op *operation) hubField(field string, given map[string]any) string {
	config, _ := given["config"].(map[string]any)
	name, _, _ := strings.Cut(field, "[")
	_, inConfig := config[name]
	_, beside := given[name]
	switch {
	case field == "" || field == "config" || field == "operation":
		return field
	case inConfig && (field == op.path || field == "path" || !beside):
		return "config." + field
	case beside:
		return field
	case field == op.path || field == "path":
		return "path"
	}
	return "config." + field
}

func (op *operation) hubCall(args map[string]any) map[string]any {
	call := map[string]any{"operation": op.name}
	config := map[string]any{}
	for k, v := range args {
		if k == op.path {
			call["path"] = v
		} else {
			config[k] = v
		}
	}
	if len(config) > 0 {
		call["config"] = config
	}
	return call
}
