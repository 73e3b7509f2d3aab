package attachments

import (
	"context"
	"sync"
)

// flights lets callers who want the same result wait for one computation of it.
// The zero value is ready.
type flights[K comparable, V any] struct {
	mu sync.Mutex
	m  map[K]*flight[V]
}

// flight is one computation in progress. It goes on while anyone waits.
type flight[V any] struct {
	waiters int
	cancel  context.CancelFunc
	done    chan struct{}
	value   V
	err     error
}

// do returns the result for key. Calls with an equal key share one computation,
// which the first of them begins: start is called at once, and what it returns
// runs apart, counted in running. A caller whose ctx ends stops waiting; the
// computation's context has the values of the first caller's and ends when no
// caller is left.
func (f *flights[K, V]) do(ctx context.Context, running *sync.WaitGroup, key K, start func() func(context.Context) (V, error)) (V, error) {
	f.mu.Lock()
	c, ok := f.m[key]
	if !ok {
		work, cancel := context.WithCancel(context.WithoutCancel(ctx))
		c = &flight[V]{cancel: cancel, done: make(chan struct{})}
		if f.m == nil {
			f.m = map[K]*flight[V]{}
		}
		f.m[key] = c
		fn := start()
		running.Add(1)
		go func() {
			defer running.Done()
			defer cancel()
			c.value, c.err = fn(work)
			f.forget(key, c)
			close(c.done)
		}()
	}
	c.waiters++
	f.mu.Unlock()

	select {
	case <-c.done:
		return c.value, c.err
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.waiters--; c.waiters == 0 {
		c.cancel()
		// Whoever comes now must not join what is ending.
		if f.m[key] == c {
			delete(f.m, key)
		}
	}
	var none V
	return none, ctx.Err()
}

// cancel ends all computations.
func (f *flights[K, V]) cancel() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.m {
		c.cancel()
	}
}

func (f *flights[K, V]) forget(key K, c *flight[V]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.m[key] == c {
		delete(f.m, key)
	}
}
