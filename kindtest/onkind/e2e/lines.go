package main

import (
	"bytes"
	"io"
	"sync"
)

// lines is an output for several goroutines: what one writes at once stays together.
type lines struct {
	mutex sync.Mutex
	out   io.Writer
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.out.Write(p)
}

// marked puts a mark before each line that is written.
type marked struct {
	out  io.Writer
	mark string
}

// Write implements io.Writer.
func (m *marked) Write(p []byte) (int, error) {
	_, err := m.out.Write(append([]byte(m.mark), bytes.TrimSuffix(bytes.ReplaceAll(p, []byte("\n"), []byte("\n"+m.mark)), []byte(m.mark))...))
	return len(p), err
}
