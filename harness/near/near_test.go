package near

import (
	"strings"
	"testing"
)

func TestMiss(t *testing.T) {
	names := []string{"edit", "read", "read_image", "write", "view_file"}
	tests := []struct{ word, want string }{
		{"raed", "read"},
		{"veiw_file", "view_file"},
		{"read_imgae", "read_image"},
		{"Write", "write"},
		{"READ_IMAGE", "read_image"},
		{"Raed", "read"},
		{strings.Repeat("read", 100), ""},
		{"bash", ""},
		{"", ""},
		{"écrire", ""},
	}
	for _, test := range tests {
		if got := Miss(test.word, names); got != test.want {
			t.Errorf("Miss(%q) = %q, want %q", test.word, got, test.want)
		}
	}
}
