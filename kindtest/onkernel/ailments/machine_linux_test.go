package ailments

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/chainwalk/chainwalk/internal/namespace"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// machine is a node, a pod, the router or a machine outside: a namespace, and what listens there.
type machine struct {
	*namespace.Namespace
	name     string
	dialect  netfilter.Dialect // of the tools that commands without a variant in their name run
	open     []io.Closer
	accounts []string // its accounting objects
}

func newMachine(name string, dialect netfilter.Dialect) (*machine, error) {
	ns, err := namespace.New()
	if err != nil {
		return nil, err
	}
	return &machine{Namespace: ns, name: name, dialect: dialect}, nil
}

func (m *machine) close() error {
	var errs []error
	for _, one := range m.open {
		errs = append(errs, one.Close())
	}
	return errors.Join(append(errs, m.Close())...)
}

// run runs a command line, whose words are apart by blanks.
func (m *machine) run(line string) error {
	words := strings.Fields(line)
	words[0] = tools.Variant(words[0], m.dialect)
	if _, err := m.Output(words, ""); err != nil {
		return fmt.Errorf("%s: %w", m.name, err)
	}
	return nil
}

// configure has ip(8) do what the lines say, and sets kernel settings before.
func (m *machine) configure(settings, lines []string) error {
	for _, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		if err := m.SetSysctl(name, value); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	if _, err := m.Output([]string{"ip", "-batch", "-"}, strings.Join(lines, "\n")+"\n"); err != nil {
		return fmt.Errorf("%s: %w", m.name, err)
	}
	return nil
}

// serve answers TCP or UDP at an address with the machine's name, or another one, and with as many bytes as were asked for.
func (m *machine) serve(name, proto string, at netip.AddrPort) error {
	return m.Do(func() error {
		if proto == "udp" {
			conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
			if err != nil {
				return err
			}
			m.open = append(m.open, conn)
			go answerDatagrams(conn, name)
			return nil
		}
		listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
		if err != nil {
			return err
		}
		m.open = append(m.open, listener)
		go m.answerStreams(listener, name)
		return nil
	})
}

func answerDatagrams(conn *net.UDPConn, name string) {
	buf := make([]byte, 64<<10)
	for {
		_, from, err := conn.ReadFromUDPAddrPort(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			_, _ = conn.WriteToUDPAddrPort([]byte(name+" "+from.Addr().Unmap().String()+" \n"), from) // who asks notices
		}
	}
}

func (m *machine) answerStreams(listener *net.TCPListener, name string) {
	for {
		conn, err := listener.AcceptTCP()
		if err != nil {
			return
		}
		go m.answerStream(conn, name)
	}
}

// stray is what a client says that wants the server to send a segment out of the window before its answer.
const stray = "stray"

func (m *machine) answerStream(conn *net.TCPConn, name string) {
	defer conn.Close() //nolint:errcheck // its end is the client's matter
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return
	}
	asked, _ := strconv.Atoi(strings.TrimSpace(line))
	if strings.TrimSpace(line) == stray && (m.sendStray(conn) != nil || isReset(conn)) {
		return
	}
	from := conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()
	_, _ = fmt.Fprintf(conn, "%s %s %s\n", name, from, strings.Repeat("x", asked))
	_, _ = io.Copy(io.Discard, conn) // until the client is done
}

// call is a connection to make.
type call struct {
	proto string // tcp or udp
	from  netip.AddrPort
	to    netip.AddrPort
	bytes int // how much the server is asked for
	stray bool
	keep  bool
	wait  time.Duration
}

// ask makes a connection and says what came of it.
func (m *machine) ask(c call) (answer, error) {
	var conn net.Conn
	deadline := time.Now().Add(c.wait)
	err := m.Do(func() (err error) {
		dialer := net.Dialer{Deadline: deadline}
		if c.from.IsValid() {
			dialer.LocalAddr = localAddr(c.proto, c.from)
		}
		conn, err = dialer.DialContext(context.Background(), c.proto, c.to.String())
		return err
	})
	if err != nil {
		return ended(err)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // its end leaves nothing behind
	}
	if c.keep {
		m.open = append(m.open, conn)
	} else {
		defer conn.Close() //nolint:errcheck // it has said what it had to
	}
	return exchange(conn, c.question(), deadline)
}

func localAddr(proto string, at netip.AddrPort) net.Addr {
	if proto == "udp" {
		return net.UDPAddrFromAddrPort(at)
	}
	return net.TCPAddrFromAddrPort(at)
}

// question is what the client says.
func (c *call) question() string {
	if c.stray {
		return stray
	}
	return strconv.Itoa(c.bytes)
}

// exchange asks and reads the answer.
func exchange(conn net.Conn, question string, deadline time.Time) (answer, error) {
	if err := conn.SetDeadline(deadline); err != nil {
		return answer{}, err
	}
	if _, err := fmt.Fprintln(conn, question); err != nil {
		return ended(err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return ended(err)
	}
	words := strings.SplitN(line, " ", 3)
	if len(words) != 3 {
		return answer{}, fmt.Errorf("%s answered %q", conn.RemoteAddr(), line)
	}
	return answer{end: answered, server: words[0], client: words[1]}, nil
}

// ended says how a connection ended that has no answer.
func ended(err error) (answer, error) {
	var errno syscall.Errno
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout() && !errors.As(err, &errno):
		return answer{end: silent}, nil
	case errors.Is(err, syscall.ETIMEDOUT):
		return answer{end: silent}, nil
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF):
		return answer{end: refused}, nil
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EACCES):
		return answer{end: unreachable}, nil
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EINVAL):
		return answer{end: notSent}, nil
	}
	return answer{}, err
}
