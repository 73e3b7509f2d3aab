package toolfs_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
)

// Sixty-four goroutines of four sessions read, write and edit twenty files.
// Each success tells the text before and after it. Every text is unique, so
// if nothing was lost the successes of a file form one chain, from the text it
// began with to the text on disk.
func TestEverySuccessIsOnDiskInOrder(t *testing.T) {
	const goroutines, sessions, files = 64, 4, 20
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	w := newWorld(t)
	name := func(i int) string { return fmt.Sprintf("f%02d.txt", i) }
	for i := range files {
		w.put(name(i), "start "+name(i)+"\n")
	}
	type change struct{ Before, After string }
	var mu sync.Mutex
	changes := map[string][]change{}
	allowed := map[string]bool{"": true, "FS_STALE_VERSION": true, "FS_NOT_OBSERVED": true, "FS_EDIT_NOT_FOUND": true, "FS_AMBIGUOUS_EDIT": true}

	var wg sync.WaitGroup
	for s := range sessions {
		a := w.agent(fmt.Sprint("s", s))
		for g := range goroutines / sessions {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(uint64(s), uint64(g)))
				for round := range rounds {
					file := name(random.IntN(files))
					token := fmt.Sprintf("%d.%d.%d", s, g, round)
					r := w.call(a, "read", args{"file_path": file})
					if r.IsError {
						t.Errorf("read: %s", r.Text())
						return
					}
					if random.IntN(2) == 0 {
						r = w.call(a, "write", args{"file_path": file, "content": "start " + token + "\n"})
					} else {
						r = w.call(a, "edit", args{"file_path": file, "old_string": "start", "new_string": "start " + token})
					}
					if code := codeOf(r.Error); !allowed[code] {
						t.Errorf("%s: %s", code, r.Text())
					}
					if r.IsError {
						continue
					}
					var c change
					if err := decodeValue(r, &c); err != nil {
						t.Error(err)
					}
					mu.Lock()
					changes[file] = append(changes[file], c)
					mu.Unlock()
				}
			})
		}
	}
	wg.Wait()

	total := 0
	for i := range files {
		next := map[string]string{}
		for _, c := range changes[name(i)] {
			if other, taken := next[c.Before]; taken {
				t.Errorf("%s: both %q and %q replaced %q: one was lost", name(i), other, c.After, c.Before)
			}
			next[c.Before] = c.After
		}
		text, steps := "start "+name(i)+"\n", 0
		for {
			after, ok := next[text]
			if !ok || steps > len(next) {
				break
			}
			text, steps = after, steps+1
		}
		if got := w.get(name(i)); got != text || steps != len(next) {
			t.Errorf("%s: the chain of %d successes ends after %d at %q; on disk is %q", name(i), len(next), steps, text, got)
		}
		total += steps
	}
	if total < rounds {
		t.Errorf("only %d changes succeeded; the test proves little", total)
	}
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "f") {
			t.Errorf("left over: %s", e.Name())
		}
	}
	if len(entries) != files {
		t.Errorf("%d files, want %d", len(entries), files)
	}
}
