package listen

import (
	"sync"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/mcp/wire"
)

// comeBack is what a client is asked to wait that finds no place. Streams end at any time; this is how long it takes at least
// until one is noticed whose client is gone without a word.
const comeBack = keepAlive

// places are the streams that may be open at a time. A stream costs a connection and some memory for as long as its client likes,
// which no limit of requests can bound.
type places struct {
	perCaller, total int // 0: any number

	mu      sync.Mutex
	taken   int
	byOwner map[v1alpha1.Owner]int
}

func newPlaces(perCaller, total int) *places {
	return &places{perCaller: perCaller, total: total, byOwner: map[v1alpha1.Owner]int{}}
}

// take takes a place for a stream of the caller's, until leave is called once.
func (p *places) take(owner v1alpha1.Owner) (leave func(), err *wire.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.perCaller > 0 && p.byOwner[owner] >= p.perCaller:
		return nil, wire.Limited("TooManyStreams", comeBack,
			"You have %d streams open, and one caller may not have more. End one that you do not need, or listen to more tasks by one "+
				"stream: params.notifications.taskIds takes %d ids. tasks/get needs no stream", p.perCaller, maxTaskIDs)
	case p.total > 0 && p.taken >= p.total:
		return nil, wire.Unavailable("TooManyStreams", comeBack,
			"All callers together have too many streams open for one more. Try again later; until then tasks/get tells the same")
	}
	p.taken++
	p.byOwner[owner]++
	return func() { p.leave(owner) }, nil
}

func (p *places) leave(owner v1alpha1.Owner) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	if p.byOwner[owner]--; p.byOwner[owner] == 0 {
		delete(p.byOwner, owner)
	}
}
