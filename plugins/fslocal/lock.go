package fslocal

import (
	"context"
	"sync"
)

// locks serialises changes of one file among all providers of the process. A
// file that nobody changes has no entry.
var locks = struct {
	sync.Mutex
	held map[string]*keyLock
}{held: map[string]*keyLock{}}

type keyLock struct {
	turn  chan struct{} // holds one token while the lock is taken
	users int           // guarded by locks
}

// lockKey waits for its turn to change the file at a resolved path. It gives
// up when ctx ends.
func lockKey(ctx context.Context, path string) (unlock func(), err error) {
	key := foldKey(path)
	locks.Lock()
	l := locks.held[key]
	if l == nil {
		l = &keyLock{turn: make(chan struct{}, 1)}
		locks.held[key] = l
	}
	l.users++
	locks.Unlock()

	leave := func() {
		locks.Lock()
		if l.users--; l.users == 0 {
			delete(locks.held, key)
		}
		locks.Unlock()
	}
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		leave()
		return nil, ctx.Err() // not its cause, which may have a code of its own
	}
	return func() {
		<-l.turn
		leave()
	}, nil
}
