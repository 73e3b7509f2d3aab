package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/bridle-go/bridle/harness/errs"
)

// Owner is the writer of a session.
type Owner struct {
	PID  int    `json:"pid"`
	Host string `json:"host"`
	// Started is about when the process started, and Locked when it took the
	// session, both in Unix milliseconds.
	Started int64 `json:"started"`
	Locked  int64 `json:"locked"`
}

// String names the owner for people.
func (o Owner) String() string {
	if o.PID == 0 {
		return "an unknown process"
	}
	return fmt.Sprintf("process %d on %s, started %s", o.PID, o.Host,
		time.UnixMilli(o.Started).UTC().Format(time.RFC3339))
}

// OwnerError is the cause when a session is locked.
type OwnerError struct{ Owner Owner }

// Error names the owner.
func (e *OwnerError) Error() string { return "locked by " + e.Owner.String() }

// processStart stands for the start of the process, which no portable call
// tells; this package is initialised within its first milliseconds.
var processStart = time.Now()

// errHeld reports that another open file holds the lock.
var errHeld = errors.New("held by another writer")

// fileLock is the lock of one session. The system releases it when the
// process ends however it ends, so a lock file without a living owner is
// stale and taken over by whoever locks it next. What is in the file only
// names the owner.
type fileLock struct {
	f    *os.File
	path string
}

// lockFile takes the lock at path, or fails with SESSION_LOCKED.
func lockFile(path string) (*fileLock, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if err := tryLock(f); err != nil {
			owner := readOwner(f)
			f.Close()
			if errors.Is(err, errHeld) {
				return nil, lockedBy(owner)
			}
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		// The owner before may have removed the file after it was opened here;
		// then the lock is on a file nobody else will find.
		if !sameFile(f, path) {
			f.Close()
			continue
		}
		l := &fileLock{f, path}
		if err := l.sign(); err != nil {
			l.release()
			return nil, err
		}
		return l, nil
	}
}

func lockedBy(owner Owner) error {
	cause := &OwnerError{owner}
	return errs.Wrap(Locked, fmt.Sprintf("the session is in use by %v; only one writer may have it open", owner), cause)
}

// sign writes who holds the lock.
func (l *fileLock) sign() error {
	text, err := json.Marshal(thisProcess())
	if err != nil {
		return err
	}
	if err := l.f.Truncate(0); err != nil {
		return err
	}
	_, err = l.f.WriteAt(append(text, '\n'), 0)
	return err
}

func thisProcess() Owner {
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown host"
	}
	return Owner{PID: os.Getpid(), Host: host, Started: processStart.UnixMilli(), Locked: time.Now().UnixMilli()}
}

func readOwner(f *os.File) Owner {
	var o Owner
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 4096))
	if err != nil || json.Unmarshal(text, &o) != nil {
		return Owner{}
	}
	return o
}

func sameFile(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

// release removes the lock file, while it is still locked so that nobody
// else's is removed, and gives the lock up.
func (l *fileLock) release() error {
	err := os.Remove(l.path)
	closeErr := l.f.Close()
	if err != nil {
		// Where an open file cannot be removed, it goes now. If another writer
		// has it open meanwhile it stays, as it should.
		if retry := os.Remove(l.path); retry == nil || errors.Is(retry, os.ErrNotExist) {
			err = nil
		}
	}
	return errors.Join(err, closeErr)
}
