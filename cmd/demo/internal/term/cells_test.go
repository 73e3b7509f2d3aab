package term

import "testing"

func TestCells(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "abc": 3, "é": 1, "e\u0301": 1, "日本": 4, "ｆ": 2, "ﾊ": 1, "👍": 2, "a👍🏽b": 6, "–": 1, "க்": 1,
	} {
		if got := Cells(text); got != want {
			t.Errorf("Cells(%q) = %d, want %d", text, got, want)
		}
	}
}
