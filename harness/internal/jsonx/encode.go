// Package jsonx writes and splits JSON the way session logs need it.
//
// The bytes of a log must not depend on the library that wrote them:
// encoding/json escapes <, > and & and the two Unicode line separators, which
// the log format does not, and it sorts or reorders what passes through a map.
// So objects are written field by field here, and read by splitting them into
// the raw bytes of their fields.
package jsonx

import (
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string and returns the extended buffer.
// Only what RFC 8259 demands is escaped, with the short forms where there are
// any; bytes that are not UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(dst, s[start:i]...)
				dst = append(dst, "\uFFFD"...)
				start = i + 1
			}
			i += size
			continue
		}
		if c >= 0x20 && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscape(dst, c)
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// Object appends one JSON object to a buffer, field by field, in the order of
// the calls. Start one with [Begin] and take the buffer from [Object.End].
type Object struct {
	buf   []byte
	begun bool
}

// Begin starts an object at the end of dst.
func Begin(dst []byte) Object { return Object{buf: append(dst, '{')} }

// Key appends a field's name; its value must follow in the returned buffer,
// which is given back with [Object.Set].
func (o *Object) Key(name string) []byte {
	if o.begun {
		o.buf = append(o.buf, ',')
	}
	o.begun = true
	o.buf = AppendString(o.buf, name)
	return append(o.buf, ':')
}

// Set takes the buffer back after a value was appended to what Key returned.
func (o *Object) Set(buf []byte) { o.buf = buf }

// String appends a string field.
func (o *Object) String(name, value string) { o.buf = AppendString(o.Key(name), value) }

// Int appends a whole-number field.
func (o *Object) Int(name string, value int64) {
	o.buf = strconv.AppendInt(o.Key(name), value, 10)
}

// Bool appends a boolean field.
func (o *Object) Bool(name string, value bool) { o.buf = strconv.AppendBool(o.Key(name), value) }

// Raw appends a field whose value is JSON already.
func (o *Object) Raw(name string, value []byte) { o.buf = append(o.Key(name), value...) }

// Ints appends an array of whole numbers.
func (o *Object) Ints(name string, values []int64) {
	o.buf = AppendInts(o.Key(name), values)
}

// End closes the object and returns the buffer.
func (o *Object) End() []byte { return append(o.buf, '}') }

// AppendInts appends values as a JSON array.
func AppendInts(dst []byte, values []int64) []byte {
	dst = append(dst, '[')
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, v, 10)
	}
	return append(dst, ']')
}
