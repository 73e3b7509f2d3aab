package agent

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
)

// Retry says how failed requests are tried again. Only failures that may pass
// are: too many requests, an overloaded or failing provider, a broken
// connection. A zero field means its default.
type Retry struct {
	// Attempts bounds the requests of one step, the first included. Default 5;
	// 1 means never to try again.
	Attempts int
	// Base is the wait before the second attempt; it doubles with each further
	// one, up to Max, and half of it is left to chance. Defaults 500 ms and
	// 30 s.
	Base, Max time.Duration
	// MaxRetryAfter bounds the wait that a provider may ask for, as in the header
	// Retry-After. A longer one makes the failure final. Default 5 min.
	MaxRetryAfter time.Duration
	// Sleep waits, and returns early with an error when ctx ends. Default: with
	// the clock of the machine.
	Sleep func(ctx context.Context, d time.Duration) error
	// Rand returns a number in [0, 1). Default: [rand.Float64].
	Rand func() float64
}

func (r Retry) withDefaults() Retry {
	if r.Attempts <= 0 {
		r.Attempts = 5
	}
	if r.Base <= 0 {
		r.Base = 500 * time.Millisecond
	}
	if r.Max <= 0 {
		r.Max = 30 * time.Second
	}
	if r.MaxRetryAfter <= 0 {
		r.MaxRetryAfter = 5 * time.Minute
	}
	if r.Sleep == nil {
		r.Sleep = sleep
	}
	if r.Rand == nil {
		r.Rand = rand.Float64
	}
	return r
}

// wait returns how long to wait after the n-th failed attempt, from 1, or
// false when the failure is final.
func (r Retry) wait(n int, err error) (time.Duration, bool) {
	if n >= r.Attempts || !llm.ClassOf(err).Retryable() {
		return 0, false
	}
	d := r.Base
	for i := 1; i < n && d < r.Max; i++ {
		d *= 2
	}
	d = min(d, r.Max)
	d = d/2 + time.Duration(r.Rand()*float64(d)/2)
	asked := llm.RetryAfterOf(err)
	if asked > r.MaxRetryAfter {
		return 0, false
	}
	return max(d, asked), true
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// TypeRetry is the type of the event that tells of a failed attempt. It is
// ignorable: it changes nothing of the conversation.
const TypeRetry = "request/retry"

// RetryEvent is the body of that event.
type RetryEvent struct {
	Turn    int    `json:"turn"`
	Step    int    `json:"step"`
	Attempt int    `json:"attempt"`
	Class   string `json:"class"`
	Message string `json:"message"`
	DelayMS int64  `json:"delayMs"`
}

func (t *turn) logRetry(attempt int, err error, wait time.Duration) error {
	data, encoding := marshal(RetryEvent{t.n, t.step, attempt, string(llm.ClassOf(err)), err.Error(), wait.Milliseconds()})
	if encoding != nil {
		return encoding
	}
	_, failed := t.append(session.Event{Type: TypeRetry, Data: data, Ignorable: true})
	return failed
}
