package patch

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// parsePointer splits a JSON pointer (RFC 6901) into decoded tokens.
func parsePointer(pointer string) ([]string, error) {
	if pointer == "" {
		return nil, nil
	}
	if pointer[0] != '/' {
		return nil, fmt.Errorf("path %q is not a JSON pointer: it must be empty or begin with '/'", pointer)
	}
	tokens := strings.Split(pointer[1:], "/")
	for i, t := range tokens {
		for j := strings.IndexByte(t, '~'); j >= 0; {
			if j+1 == len(t) || t[j+1] != '0' && t[j+1] != '1' {
				return nil, fmt.Errorf("path %q: '~' must be written ~0, and '/' in a key ~1", pointer)
			}
			next := strings.IndexByte(t[j+1:], '~')
			if next < 0 {
				break
			}
			j += 1 + next
		}
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
	}
	return tokens, nil
}

// formatPointer is the inverse of parsePointer, for messages.
func formatPointer(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString("/" + strings.ReplaceAll(strings.ReplaceAll(t, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// parseIndex reads an array index. "-" is the length.
func parseIndex(token string, length int) (int, error) {
	if token == "-" {
		return length, nil
	}
	if token == "" || token[0] == '0' && token != "0" || strings.Trim(token, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not an array index: use 0, 1, ... or '-' for the end", token)
	}
	i, err := strconv.Atoi(token)
	if err != nil {
		return 0, errors.New("array index is too large")
	}
	return i, nil
}
