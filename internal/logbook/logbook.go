// Package logbook keeps what programs log, in sentences for people. A simulation runs proxies and prints their logs only for a run that
// failed.
package logbook

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
)

// Book keeps what is logged. It takes lines of several goroutines at once.
type Book struct {
	mu    sync.Mutex
	lines []string
}

// Logger writes into the book what is logged at level 0, and errors.
func (b *Book) Logger() logr.Logger { return logr.New(&sink{book: b}) }

// Lines are the lines so far, each once, in the order of their first time.
func (b *Book) Lines() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.lines)
}

func (b *Book) add(line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Contains(b.lines, line) {
		b.lines = append(b.lines, line)
	}
}

// sink is a logger's way into a book.
type sink struct {
	book   *Book
	name   string
	values []any
}

func (*sink) Init(logr.RuntimeInfo) {}

func (*sink) Enabled(level int) bool { return level == 0 }

func (s *sink) Info(_ int, msg string, keysAndValues ...any) {
	s.book.add(s.line(msg, nil, keysAndValues))
}

func (s *sink) Error(err error, msg string, keysAndValues ...any) {
	s.book.add(s.line(msg, err, keysAndValues))
}

// WithValues is the logger whose lines all have these values.
func (s *sink) WithValues(keysAndValues ...any) logr.LogSink {
	return &sink{s.book, s.name, append(slices.Clip(s.values), keysAndValues...)}
}

// WithName is the logger whose lines all begin with this name.
func (s *sink) WithName(name string) logr.LogSink {
	return &sink{s.book, s.name + name + ": ", s.values}
}

// line is "NAME: MESSAGE: ERROR (KEY VALUE, KEY VALUE)".
func (s *sink) line(msg string, err error, more []any) string {
	var b strings.Builder
	b.WriteString(s.name + msg)
	if err != nil {
		fmt.Fprintf(&b, ": %v", err)
	}
	var pairs []string
	for pair := range slices.Chunk(append(slices.Clip(s.values), more...), 2) {
		pairs = append(pairs, strings.TrimSpace(fmt.Sprintln(pair...)))
	}
	if len(pairs) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(pairs, ", "))
	}
	return b.String()
}
