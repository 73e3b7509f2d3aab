package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Parse reads a script: a JSON list of steps. Keys it does not know are an
// error.
func Parse(r io.Reader) ([]Step, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	var steps []Step
	if err := json.Unmarshal(data, &steps); err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	return steps, nil
}

// UnmarshalJSON reads a step.
func (s *Step) UnmarshalJSON(data []byte) error {
	type plain Step
	v := struct {
		*plain
		Delay duration `json:"delay"`
		Pace  duration `json:"pace"`
	}{plain: (*plain)(s)}
	if err := strict(data, &v); err != nil {
		return err
	}
	s.Delay, s.Pace = time.Duration(v.Delay), time.Duration(v.Pace)
	return nil
}

// UnmarshalJSON reads a fault.
func (f *Fault) UnmarshalJSON(data []byte) error {
	type plain Fault
	v := struct {
		*plain
		RetryAfter duration `json:"retryAfter"`
	}{plain: (*plain)(f)}
	if err := strict(data, &v); err != nil {
		return err
	}
	f.RetryAfter = time.Duration(v.RetryAfter)
	return nil
}

// duration is a time span as a string in JSON, as in "150ms".
type duration time.Duration

func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = duration(v)
	return err
}

func strict(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}
