package listen

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/mcptasks/mcptasks/internal/auth"
	"github.com/mcptasks/mcptasks/internal/mcp/sse"
)

// stream is one client that listens.
type stream struct {
	service  *Service
	request  *http.Request
	caller   auth.Caller
	of       subscription
	events   *sse.Writer
	pending  *pending
	subjects []*subject
}

func newStream(service *Service, w http.ResponseWriter, r *http.Request, request Request) *stream {
	return &stream{
		service: service,
		request: r,
		caller:  request.Caller,
		of:      subscription{request.ID},
		events:  sse.New(w, service.WriteTimeout),
		pending: newPending(service.Clock),
	}
}

func (s *stream) close() {
	for _, subject := range s.subjects {
		subject.end()
	}
}

// ending is why a stream ended.
type ending string

const (
	byClient   ending = "client"
	byStalling ending = "stalled"
	byRefusal  ending = "refused"
	byShutdown ending = "shutdown"
	byError    ending = "error"
)

// errRefused says that the client may not listen any longer.
var errRefused = errors.New("the client is not who it was")

// run sends all there is to send until the stream ends, and returns why it did. Where it is we who end it, the client gets
// the result of its request, and can tell that from a connection that broke.
func (s *stream) run(ctx context.Context, first message) ending {
	// What waits for an answer of the API server must not keep the process from ending.
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.service.draining, cancel)()

	ticker := s.service.Clock.NewTicker(keepAlive)
	defer ticker.Stop()
	err := s.events.Message(first.body)
	s.lookAtAll()
	for err == nil {
		select {
		case <-ctx.Done():
			return byClient
		case <-s.service.draining.Done():
			return s.finish(byShutdown)
		case <-ticker.C():
			s.lookAtAll()
			err = s.events.Comment()
		case <-s.pending.wake:
			err = s.tell(reading)
		}
	}
	switch {
	case errors.Is(err, errRefused):
		return s.finish(byRefusal)
	case errors.Is(err, sse.ErrStalled):
		return byStalling
	case errors.Is(err, http.ErrNotSupported):
		s.service.Logger.Error(err, "Something between net/http and the stream keeps events from being flushed")
		return byError
	default: // a write that failed: nobody is there any more
		return byClient
	}
}

// lookAtAll makes sure that everything is looked at, whether or not it was heard of.
func (s *stream) lookAtAll() {
	for _, subject := range s.subjects {
		if !subject.over {
			s.pending.add(subject)
		}
	}
}

// tell looks at the subject that has waited longest and sends what is new. Its error is errRefused, or that of the write.
func (s *stream) tell(ctx context.Context) error {
	subject := s.pending.take()
	if subject == nil || subject.over {
		return nil
	}
	news, err := s.look(ctx, subject)
	switch {
	case errors.Is(err, errRefused):
		return err
	case err != nil:
		s.tryAgain(ctx, subject, err)
		return nil
	case news == nil:
		return nil
	}
	if err := s.events.Message(news.body); err != nil {
		return err
	}
	s.service.metrics.notifications.WithLabelValues(news.method).Inc()
	return nil
}

func (s *stream) look(ctx context.Context, subject *subject) (*message, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	if err := s.admit(ctx); err != nil {
		return nil, err
	}
	news, last, err := subject.look(ctx)
	if err != nil {
		return nil, err
	}
	subject.failures = 0
	if last {
		subject.end()
	}
	return news, nil
}

// admit checks that the client may still be told anything: its token may have expired or been revoked, its tenant may be
// gone.
func (s *stream) admit(ctx context.Context) error {
	now, err := s.service.Authenticator.Authenticate(s.request.WithContext(ctx))
	refused := (*auth.Error)(nil)
	switch {
	case errors.As(err, &refused):
		return errRefused
	case err != nil:
		return err
	case now.Owner() != s.caller.Owner() || now.Tenant != s.caller.Tenant || now.Namespace != s.caller.Namespace:
		return errRefused
	default:
		return nil
	}
}

// tryAgain comes back to a subject that could not be looked at, sooner at first. The client need not know: it cannot do more
// about it.
func (s *stream) tryAgain(ctx context.Context, subject *subject, err error) {
	if ctx.Err() != nil {
		return // the stream is about to end
	}
	if subject.failures == 0 {
		s.service.Logger.Error(err, "News for a listener could not be read; trying again", "subject", s.caller.Subject)
	}
	s.pending.addAfter(subject, min(time.Second<<subject.failures, keepAlive))
	subject.failures = min(subject.failures+1, 4)
}

// finish sends the result of the listen request.
func (s *stream) finish(why ending) ending {
	last, err := result(s.of, s.service.Server)
	if err != nil {
		s.service.Logger.Error(err, "The result of a stream could not be encoded")
		return byError
	}
	if err := s.events.Message(last.body); err != nil {
		return byClient // it was about to go, too
	}
	return why
}
