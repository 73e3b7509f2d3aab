// Package scenario plays conformance scenarios against a deployment.
//
// A scenario mounts a deployment on an empty workspace, plays tool calls and
// outside changes against it, and says what each must give and what the
// workspace must hold afterwards. Scenarios are JSON, a list of them a file;
// [Load] reads them, [Run] plays one. [Scenario] describes the format.
//
// The package knows no plugin. Which plugins make up the deployment that a
// scenario asks for is said by the caller's [Composer]; one that cannot
// provide what is asked returns an error, and the scenario fails with it.
// Nothing in a scenario is passed over: a key that the runner does not know is
// a difference like any other.
//
// In all strings of a scenario {{cwd}} stands for the workspace and {{base}}
// for the folder that holds it, and results are given in the same form.
package scenario
