//go:build !unix

package change

const childEnv = "BRIDLE_CHANGE_CHILD"

func helperMain() {}
