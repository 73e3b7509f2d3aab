package fslocal

func runHelper(string, []string) int { return 1 }
