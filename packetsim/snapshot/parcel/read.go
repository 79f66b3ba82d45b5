package parcel

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	// maxPacked bounds what is read of a parcel, in bytes of base64: more than a log holds that was not rotated.
	maxPacked = 256 << 20
	// A line that is no parcel's is kept up to said bytes, and the first sayings of them.
	said, sayings = 500, 20
)

// Errors of Read. They say what has happened to the log.
var (
	// ErrNone is a log without a line of a parcel.
	ErrNone = errors.New("the log has no snapshot in it")
	// ErrCut is a log that lacks lines: its beginning was rotated away, or its end has not come.
	ErrCut = errors.New("the log is not whole")
	// ErrMixed is a log with lines of another parcel, or with lines twice or in another order.
	ErrMixed = errors.New("the log has the output of more than one program")
	// ErrDamaged is a parcel whose content is not what its first line says.
	ErrDamaged = errors.New("the snapshot in the log is damaged")
)

// Read finds the parcel of an id in a log and unpacks it. Beside is what else the log has, such as what the collector printed on stderr:
// its first lines. It is there with an error, too. Read stops at the end of the parcel.
func Read(id string, log io.Reader) (document []byte, beside []string, err error) {
	p := &reader{id: id}
	lines := bufio.NewReaderSize(log, 64<<10)
	for !p.ended {
		line, tooLong, err := nextLine(lines)
		if line != "" {
			if wrong := p.line(line, tooLong); wrong != nil {
				return nil, p.beside, wrong
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, p.beside, fmt.Errorf("%w: %w", ErrCut, err)
		}
	}
	document, err = p.document()
	return document, p.beside, err
}

// nextLine is a line without its end. Of one that fits into no buffer it is the beginning.
func nextLine(r *bufio.Reader) (line string, tooLong bool, err error) {
	text, err := r.ReadSlice('\n')
	line = strings.TrimRight(string(text), "\r\n")
	for errors.Is(err, bufio.ErrBufferFull) {
		tooLong = true
		_, err = r.ReadSlice('\n')
	}
	return line, tooLong, err
}

// reader puts a parcel together.
type reader struct {
	id     string
	begun  bool
	ended  bool
	lines  int // as the first line says
	size   int
	sum    string
	next   int // the number of the line that comes next
	packed bytes.Buffer
	beside []string
}

// line takes one line of the log.
func (p *reader) line(line string, tooLong bool) error {
	words := strings.Fields(line)
	if len(words) < 3 || words[0] != mark {
		if len(p.beside) < sayings {
			p.beside = append(p.beside, line[:min(len(line), said)])
		}
		return nil
	}
	switch {
	case words[1] != p.id:
		return fmt.Errorf("%w: a line is of the parcel %.80q, not of %q", ErrMixed, words[1], p.id)
	case tooLong:
		return fmt.Errorf("%w: a line is too long", ErrDamaged)
	case words[2] == "begin":
		return p.begin(words[3:])
	case !p.begun:
		return fmt.Errorf("%w: its first lines are missing (the kubelet may have rotated it)", ErrCut)
	case words[2] == "end":
		p.ended = true
		return nil
	}
	return p.data(words[2:])
}

func (p *reader) begin(words []string) error {
	if p.begun {
		return fmt.Errorf("%w: a second snapshot begins", ErrMixed)
	}
	if len(words) != 3 {
		return fmt.Errorf("%w: its first line cannot be read", ErrDamaged)
	}
	lines, err := strconv.Atoi(words[0])
	size, sizeErr := strconv.Atoi(words[1])
	if err != nil || sizeErr != nil || lines < 0 || size < 0 || size > maxUnpacked {
		return fmt.Errorf("%w: its first line says %.40q lines and %.40q bytes, %d at most", ErrDamaged, words[0], words[1], maxUnpacked)
	}
	p.begun, p.lines, p.size, p.sum, p.next = true, lines, size, words[2], 1
	return nil
}

func (p *reader) data(words []string) error {
	number, err := strconv.Atoi(words[0])
	switch {
	case err != nil || len(words) != 2:
		return fmt.Errorf("%w: line %d of %d cannot be read", ErrDamaged, p.next, p.lines)
	case number < p.next:
		return fmt.Errorf("%w: line %d comes a second time", ErrMixed, number)
	case number > p.next:
		return fmt.Errorf("%w: line %d of %d is missing", ErrCut, p.next, p.lines)
	case number > p.lines:
		return fmt.Errorf("%w: line %d comes, and there are %d", ErrDamaged, number, p.lines)
	}
	chunk, err := base64.StdEncoding.DecodeString(words[1])
	if err != nil {
		return fmt.Errorf("%w: line %d of %d: %w", ErrDamaged, number, p.lines, err)
	}
	if p.packed.Len()+len(chunk) > maxPacked {
		return fmt.Errorf("%w: it has more than %d bytes", ErrDamaged, maxPacked)
	}
	p.packed.Write(chunk)
	p.next++
	return nil
}

// document is what was packed.
func (p *reader) document() ([]byte, error) {
	switch {
	case !p.begun:
		return nil, ErrNone
	case !p.ended || p.next != p.lines+1:
		return nil, fmt.Errorf("%w: it ends after line %d of %d", ErrCut, p.next-1, p.lines)
	}
	document, err := unpack(&p.packed, p.size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(document)); got != p.sum {
		return nil, fmt.Errorf("%w: its checksum is %.64s, not %.64s", ErrDamaged, got, p.sum)
	}
	return document, nil
}
