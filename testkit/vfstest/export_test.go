package vfstest

// Explain is what Run says of a clause that failed.
func (c Clause) Explain(v Verdict) string { return c.explain(v) }

// Tally is what Run says at the end of clauses with these verdicts.
func Tally(verdicts ...Verdict) string {
	var t tally
	for _, v := range verdicts {
		t.add(v)
	}
	return t.String()
}
