// Package fspolicy demands that an agent has seen a file before it changes it,
// and that the file is still what the agent saw.
//
// It knows no tool and no provider. Tools ask for a guard before they change a
// file and tell what they have seen; see the events of package vfs. What a
// session has seen is kept in its log, as ignorable fs/observed events, so a
// resumed session goes on where it was:
//
//	seen          whole write        edit
//	nothing       create-if-absent   FS_NOT_OBSERVED
//	absent        create-if-absent   FS_NOT_FOUND
//	a version     that version       that version
//
// A call without a session has seen nothing: it can create files but change
// none. The guard is judged by the provider at the moment of the change, so a
// file that changes between is never overwritten.
package fspolicy

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/vfs"
)

// Name is the name of the plugin.
const Name = "fspolicy"

// Config configures the policy. The zero value works.
type Config struct {
	// RequireFullRead demands that the windows of a session's reads together
	// covered a text before the session may overwrite it as a whole. What was
	// covered is not kept across a restart.
	RequireFullRead bool
	// MaxTextBytes bounds the memory for texts that were seen, which let a stale
	// refusal name the lines that changed. Default 16 MiB; negative keeps none.
	MaxTextBytes int64
}

// DefaultMaxTextBytes is the default of Config.MaxTextBytes.
const DefaultMaxTextBytes = 16 << 20

// Plugin returns the policy as a plugin.
func Plugin(cfg Config) plug.Plugin {
	return plug.Plugin{
		Name: Name,
		Options: fx.Invoke(func(bus *event.Bus, scope *plug.Scope) {
			New(cfg).Listen(bus, scope)
		}),
	}
}

// Policy is the observation policy.
type Policy struct {
	cfg  Config
	seen *memory
	// looking is held, by the session's hash, from the look at what a session
	// knows to the note of what it sees, so that calls that run at once and see
	// the same do not note it twice.
	looking [64]sync.Mutex
	seed    maphash.Seed
}

// New returns a policy that listens to nothing yet.
func New(cfg Config) *Policy {
	if cfg.MaxTextBytes == 0 {
		cfg.MaxTextBytes = DefaultMaxTextBytes
	}
	return &Policy{cfg: cfg, seen: newMemory(cfg.MaxTextBytes), seed: maphash.MakeSeed()}
}

// Listen puts the policy to work on a bus until scope ends; then it forgets
// what it holds in memory.
func (p *Policy) Listen(bus *event.Bus, scope event.Scope) {
	scope.Add(p.seen.clear)
	vfs.WriteIntent.On(bus, scope, func(_ context.Context, in vfs.Intent, _ event.Next[vfs.Intent, vfs.Guard]) (vfs.Guard, error) {
		return p.write(in)
	})
	vfs.EditIntent.On(bus, scope, func(_ context.Context, in vfs.Intent, _ event.Next[vfs.Intent, vfs.Guard]) (vfs.Guard, error) {
		return p.edit(in)
	})
	vfs.Observed.On(bus, scope, func(_ context.Context, o vfs.Observation) error { return p.observe(o) })
	vfs.Refused.On(bus, scope, p.explain)
}

// write takes the decision: no other listener is asked.
func (p *Policy) write(in vfs.Intent) (vfs.Guard, error) {
	o, known := observation(in)
	if !known || o.State == session.ObservedAbsent {
		return vfs.CreateIfAbsent(), nil
	}
	v := vfs.Version(o.Version)
	if p.cfg.RequireFullRead {
		if missing := p.seen.missing(sessionOf(in.Actor).ID(), in.Target.Key, v); missing != "" {
			return vfs.Guard{}, &errs.Error{Code: errs.NotObserved, Op: "write", Path: in.Target.Path,
				Message: fmt.Sprintf(`write requires reading all of "%s" first; %s`, vfs.DisplayName(in.Target.Path), missing)}
		}
	}
	return vfs.ReplaceIfVersion(v), nil
}

func (p *Policy) edit(in vfs.Intent) (vfs.Guard, error) {
	o, known := observation(in)
	switch {
	case !known:
		return vfs.Guard{}, &errs.Error{Code: errs.NotObserved, Op: "edit", Path: in.Target.Path,
			Message: fmt.Sprintf(`edit requires reading "%s" first`, vfs.DisplayName(in.Target.Path))}
	case o.State == session.ObservedAbsent:
		return vfs.Guard{}, &errs.Error{Code: errs.NotFound, Op: "edit", Path: in.Target.Path,
			Message: fmt.Sprintf(`cannot edit "%s": not found`, vfs.DisplayName(in.Target.Path))}
	}
	return vfs.ReplaceIfVersion(vfs.Version(o.Version)), nil
}

func (p *Policy) observe(o vfs.Observation) error {
	s := sessionOf(o.Actor)
	if s == nil {
		return nil
	}
	now := session.Observed{Key: string(o.Target.Key), Path: o.Target.Path, State: session.ObservedPresent, Version: string(o.Version)}
	if o.Absent {
		now.State, now.Version = session.ObservedAbsent, ""
	}
	if p.seen.note(s.ID(), o) {
		p.seen.until(s.ID(), s.OnClose(func() { p.seen.forget(s.ID()) }))
	}
	lock := &p.looking[maphash.String(p.seed, s.ID())%uint64(len(p.looking))]
	lock.Lock()
	defer lock.Unlock()
	if last, known := s.Observation(now.Key); known && last.State == now.State && last.Version == now.Version {
		return nil // the log says so already
	}
	_, err := s.Append(now.Event())
	return err
}

func observation(in vfs.Intent) (session.Observed, bool) {
	s := sessionOf(in.Actor)
	if s == nil {
		return session.Observed{}, false
	}
	return s.Observation(string(in.Target.Key))
}

// sessionOf returns the session that an actor speaks for, or nil.
func sessionOf(actor any) *session.Session {
	if a, ok := actor.(interface{ Session() *session.Session }); ok {
		return a.Session()
	}
	return nil
}
