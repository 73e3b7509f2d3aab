//go:build !unix

package change_test

const childEnv = "BRIDLE_CHANGE_CHILD"

func helperMain() {}
