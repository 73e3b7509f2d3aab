package attachments

import (
	"sync"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/plugins/attachments/internal/picture"
)

// maxRecent bounds the images that are remembered, at about 300 bytes each.
const maxRecent = 512

// recent remembers what the last images became: a file that is looked at again
// need not be decoded again. The zero value is ready.
type recent struct {
	mu    sync.Mutex
	refs  map[saveKey]attachment.Ref
	order []saveKey // the oldest first
}

func (r *recent) get(key saveKey) (attachment.Ref, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ref, ok := r.refs[key]
	return ref, ok
}

func (r *recent) put(key saveKey, ref attachment.Ref) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refs == nil {
		r.refs = map[saveKey]attachment.Ref{}
	}
	if _, ok := r.refs[key]; !ok {
		if len(r.order) == maxRecent {
			delete(r.refs, r.order[0])
			r.order = r.order[1:]
		}
		r.order = append(r.order, key)
	}
	r.refs[key] = ref
}

// again returns what an image became that was saved before. The object is read
// and verified: one that was collected or damaged is made anew.
func (s *Store) again(key saveKey) (saved, bool) {
	ref, ok := s.recent.get(key)
	if !ok {
		return saved{}, false
	}
	data, err := s.read(ref)
	if err != nil {
		return saved{}, false
	}
	e := picture.Encoded{Data: data, MediaType: ref.MediaType, Width: ref.Width, Height: ref.Height}
	return saved{picture.Normalized{Encoded: e, Original: ref.OriginalDimensions}, key, digestOf(data)}, true
}
