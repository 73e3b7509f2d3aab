// Package validate tells whether a text is well-formed JSON or YAML, and where
// it is not. JSON is checked by RFC 8259, with duplicate keys an error; YAML
// by version 1.2 of its specification, every document of a stream.
package validate

import (
	"fmt"

	"github.com/bridle-go/bridle/plugins/fileops/internal/doc"
	"github.com/bridle-go/bridle/plugins/fileops/internal/patch"
)

// Report is the outcome of a check.
type Report struct {
	// Format is the syntax that was checked, never patch.Auto.
	Format patch.Format
	Valid  bool
	// Documents counts the documents of a valid text: 1 for JSON, any number
	// for YAML.
	Documents int
	// Message, Line and Column are set where Valid is not. Line and Column
	// count from 1, a column is one character.
	Message      string
	Line, Column int
}

// Summary says the outcome in one sentence.
func (r Report) Summary() string {
	name := map[patch.Format]string{patch.JSON: "JSON", patch.YAML: "YAML"}[r.Format]
	switch {
	case !r.Valid:
		return fmt.Sprintf("not valid %s: line %d, column %d: %s", name, r.Line, r.Column, r.Message)
	case r.Format == patch.YAML && r.Documents != 1:
		return fmt.Sprintf("valid YAML, %d documents", r.Documents)
	}
	return "valid " + name
}

// Check parses content. name serves to find out the format where format is
// patch.Auto or empty, as patch.Detect does.
func Check(name, content string, format patch.Format) Report {
	if format == patch.Auto || format == "" {
		format = patch.Detect(name, content)
	}
	r := Report{Format: format}
	var err error
	if format == patch.YAML {
		var docs []*doc.Document
		docs, err = doc.ParseYAML(content)
		r.Documents = len(docs)
	} else {
		_, err = doc.ParseJSON(content)
		r.Documents = 1
	}
	if err == nil {
		r.Valid = true
		return r
	}
	r.Documents = 0
	r.Message = err.Error()
	if s, ok := doc.AsSyntaxError(err); ok {
		r.Message, r.Line, r.Column = s.Message, s.Line, s.Column
	}
	return r
}
