package cli

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Interrupts hands interrupts to whoever can do something with them before the
// whole command ends. The zero value has nobody.
type Interrupts struct {
	mu     sync.Mutex
	handle func() bool
}

// On makes handle the one that is asked, until the returned undo is called.
// It reports whether it took the interrupt; else the command ends.
func (i *Interrupts) On(handle func() bool) (undo func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.handle = handle
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.handle = nil
	}
}

// Interrupt tells of an interrupt and reports whether somebody took it.
func (i *Interrupts) Interrupt() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.handle != nil && i.handle()
}

// listen ends the command with the first signal that nobody takes; one more
// ends the process. The returned stop ends listening.
func (i *Interrupts) listen(end func()) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	stopped, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer signal.Stop(signals)
		for {
			select {
			case s := <-signals:
				if s == os.Interrupt && i.Interrupt() {
					continue
				}
				end()
				return
			case <-stopped:
				return
			}
		}
	}()
	return func() {
		close(stopped)
		<-done
	}
}
