// Package textedit holds what every provider of files promises about text:
// which bytes are text, what is shown of them, and how a literal replacement
// changes them and nothing else.
//
// # Text
//
// Text is valid UTF-8 without NUL. Reading looks for NUL in the first
// [NULWindow] bytes only, editing looks everywhere. A byte-order mark (U+FEFF
// as the first three bytes) is not part of the text: it is not shown, not
// matched and not counted, and it stays where it is.
//
// # Breaks
//
// A line ends in a break, LF or CRLF. The two are the same for matching: a
// break in the needle matches either. A break is matched whole or not at all,
// never the LF of a CRLF alone. A carriage return with no line feed behind it
// is an ordinary character, in the file, in the needle and in the new text.
//
// Breaks in the new text are breaks, however they are spelled; the file
// decides how they are written:
//
//   - What needle and new text have in common at their beginning and at their
//     end is not touched, breaks included.
//   - In what differs, the first break of the new text takes the style of the
//     first break it replaces, the second that of the second, and so on.
//   - Where there is none to replace, a break takes the style of the line it
//     lands in: the line of the last character that is replaced or, when
//     something is only inserted, of the matched character before it, or else
//     of the one behind it.
//   - A line at the end of the file without a break counts as ending like the
//     line before it.
//   - In a file without any break, those of the new text stay as they are.
//
// A carriage return that an edit puts in front of a line feed becomes part of
// that break, as the bytes say.
package textedit
