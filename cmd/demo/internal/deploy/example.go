package deploy

import _ "embed"

// Example is a configuration file that describes the deployment of [Agent].
//
//go:embed example.yaml
var Example string
