package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

func newProbeCommand(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "probe",
		Short: "Make and answer real connections, and print who answered and what the server saw",
		Long: `Probes are the two ends of real connections (Linux): "serve" answers them and says who it is, "dial" makes them. The tests on
clusters run "serve" in pods, on nodes and outside, and reach each through a "relay" on its machine.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newProbeServeCommand(s), newProbeDialCommand(s), newProbeRelayCommand(s))
	return cmd
}

type probeServeOptions struct {
	name    string
	control string
	listen  []string
	grace   time.Duration
}

func newProbeServeCommand(s streams) *cobra.Command {
	var o probeServeOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Answer connections, and take requests on a socket",
		Long: `Listens where --listen says, and where requests on the control socket say later. It tells each client its name, the address that
the client reached, and the address that the client came from. On SIGTERM it goes on for the grace period, like a server in a
terminating pod.`,
		Example: `  chainwalk probe serve --name web-1 --listen 'tcp 0.0.0.0:8080' --listen 'udp [::]:53'
  chainwalk probe serve --name web-1 --control unix:/run/chainwalk/web-1.sock --grace 20s`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return probeServe(cmd.Context(), s, o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.name, "name", "", "the name that it answers with (default: the host name)")
	flags.StringVar(&o.control, "control", "", "where to accept requests: unix:PATH")
	flags.StringArrayVar(&o.listen, "listen", nil,
		"PROTO ADDRESS:PORT to answer on from the start (repeatable); icmp ADDRESS records echo requests")
	flags.DurationVar(&o.grace, "grace", 0, "how long to go on after SIGTERM")
	return cmd
}

func probeServe(ctx context.Context, s streams, o probeServeOptions) error {
	if o.control == "" && len(o.listen) == 0 {
		return errors.New("probe serve: give --control, --listen or both")
	}
	agent, err := newProbeAgent(o.name)
	if err != nil {
		return err
	}
	var listeners []probe.Listener
	for _, text := range o.listen {
		proto, at, err := probeTarget(strings.Fields(text))
		if err != nil {
			return fmt.Errorf("--listen %q: %w", text, err)
		}
		listeners = append(listeners, probe.Listener{Proto: proto, Addr: at.Addr(), Port: at.Port()})
	}
	control, err := probeControl(o.control)
	if err != nil {
		return err
	}
	if err := agent.Serve(listeners); err != nil {
		return errors.Join(err, control.Close())
	}
	fmt.Fprintf(s.errOut, "chainwalk: serving\n")
	ctx, cancel := afterGrace(ctx, clock.RealClock{}, o.grace)
	defer cancel()
	return agent.Run(ctx, control)
}

// newProbeAgent makes an agent of this name, or of the host's.
func newProbeAgent(name string) (*probe.Agent, error) {
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("%w: give --name", err)
		}
		name = strings.ToLower(host)
	}
	return probe.NewAgent(name, clock.RealClock{})
}

// probeControl opens the control socket. One that nobody serves any more is replaced. Without a path nobody can ask.
func probeControl(control string) (net.Listener, error) {
	path, ok := strings.CutPrefix(control, "unix:")
	if !ok && control != "" {
		return nil, fmt.Errorf("--control %s: want unix:PATH", control)
	}
	if path == "" {
		return nobody{make(chan struct{})}, nil
	}
	if conn, err := net.Dial("unix", path); err == nil {
		_ = conn.Close()
		return nil, fmt.Errorf("--control %s: another agent takes requests there", control)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return net.Listen("unix", path)
}

// nobody is a listener that nobody connects to.
type nobody struct{ closed chan struct{} }

func (n nobody) Accept() (net.Conn, error) {
	<-n.closed
	return nil, net.ErrClosed
}

func (n nobody) Close() error { close(n.closed); return nil }

func (n nobody) Addr() net.Addr { return &net.UnixAddr{} }

// afterGrace ends so long after another context.
func afterGrace(ctx context.Context, c clock.Clock, grace time.Duration) (context.Context, context.CancelFunc) {
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		select {
		case <-c.After(grace):
		case <-later.Done():
		}
		cancel()
	})
	return later, cancel
}

type probeDialOptions struct {
	from    string
	times   int
	timeout time.Duration
	output  string
}

func newProbeDialCommand(s streams) *cobra.Command {
	var o probeDialOptions
	cmd := &cobra.Command{
		Use:   "dial PROTO ADDRESS[:PORT]",
		Short: "Make connections, and print who answered or how they were refused",
		Long: `Makes real connections from here and asks who answers. Another server than "chainwalk probe serve" counts as an answer
too, but its name is unknown. The output tells a TCP reset from an ICMP error, and names the sender of the error.

Exit status: 0 all were answered, 1 some were not, 2 bad usage.`,
		Example: `  chainwalk probe dial tcp 10.96.0.1:443
  chainwalk probe dial udp '[fd00:10:96::a]:53' --times 100 -o json
  chainwalk probe dial icmp 10.244.1.2`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return probeDial(cmd.Context(), s, args, o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.from, "from", "", "the client's own ADDRESS, ADDRESS:PORT or :PORT")
	flags.IntVar(&o.times, "times", 1, "how many connections to make")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Second, "how long each connection waits for an answer")
	flags.StringVarP(&o.output, "output", "o", "text", "how to print the results: text or json")
	completeWords(cmd, "output", "text", "json")
	return cmd
}

func probeDial(ctx context.Context, s streams, args []string, o probeDialOptions) error {
	write, err := probeWriter(o.output)
	if err != nil {
		return err
	}
	proto, to, err := probeTarget(args)
	if err != nil {
		return err
	}
	from, err := probeFrom(o.from, to)
	if err != nil {
		return err
	}
	agent, err := probe.NewAgent("dial", clock.RealClock{})
	if err != nil {
		return err
	}
	results, err := agent.Dial(ctx, probe.Dial{Proto: proto, From: from, To: to, Times: o.times, Timeout: o.timeout})
	if err != nil {
		return err
	}
	if err := write(s.out, results); err != nil {
		return err
	}
	for _, r := range results {
		if r.End != probe.Answered {
			return errNotHeld
		}
	}
	return nil
}

// probeTarget reads PROTO ADDRESS[:PORT], with icmp of either family.
func probeTarget(words []string) (proto inet.Proto, at netip.AddrPort, err error) {
	if len(words) != 2 {
		return 0, at, errors.New("want PROTO ADDRESS:PORT, or icmp ADDRESS")
	}
	if err := proto.UnmarshalText([]byte(words[0])); err != nil {
		return 0, at, err
	}
	if proto.HasPorts() {
		at, err = netip.ParseAddrPort(words[1])
		if err != nil {
			err = fmt.Errorf("%q: want ADDRESS:PORT, an IPv6 address in brackets", words[1])
		}
		return proto, at, err
	}
	addr, err := netip.ParseAddr(words[1])
	if err == nil && proto == inet.ICMP && addr.Is6() {
		proto = inet.ICMPv6
	}
	return proto, netip.AddrPortFrom(addr, 0), err
}

// probeFrom reads ADDRESS, ADDRESS:PORT or :PORT.
func probeFrom(text string, to netip.AddrPort) (netip.AddrPort, error) {
	if text == "" {
		return netip.AddrPort{}, nil
	}
	if addr, err := netip.ParseAddr(text); err == nil {
		return netip.AddrPortFrom(addr, 0), nil
	}
	if strings.HasPrefix(text, ":") {
		text = "0.0.0.0" + text
		if to.Addr().Is6() {
			text = "[::]" + strings.TrimPrefix(text, "0.0.0.0")
		}
	}
	from, err := netip.ParseAddrPort(text)
	if err != nil {
		return from, fmt.Errorf("--from: %w", err)
	}
	return from, nil
}

func probeWriter(output string) (func(io.Writer, []probe.Result) error, error) {
	switch output {
	case "text":
		return probe.WriteText, nil
	case "json":
		return func(w io.Writer, results []probe.Result) error {
			return writeJSON(w, struct {
				Version int            `json:"version"`
				Results []probe.Result `json:"results"`
			}{1, results})
		}, nil
	}
	return nil, fmt.Errorf("-o %s: want text or json", output)
}

func newProbeRelayCommand(s streams) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "relay",
		Short: "Pass requests from the standard input to the agents of this machine",
		Long: `Reads requests as lines of JSON, passes each to the control socket of the agent that it names, DIR/NAME.sock, and prints the
responses, in any order. The relay itself takes snapshots of the machine and runs commands on it. It is for programs: package kindtest/probe
has the client. It ends when its standard input ends.`,
		Example: `  docker exec -i worker1 chainwalk probe relay --dir /run/chainwalk`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithCancel(cmd.Context())
			go func() {
				defer cancel()
				probe.Relay(ctx, dir, clock.RealClock{}, stdio{s})
			}()
			<-ctx.Done() // a terminal's standard input may be read for ever
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "/run/chainwalk", "the folder with the agents' control sockets")
	return cmd
}

// stdio is the process's own input and output as one stream.
type stdio struct{ s streams }

func (s stdio) Read(p []byte) (int, error)  { return s.s.in.Read(p) }
func (s stdio) Write(p []byte) (int, error) { return s.s.out.Write(p) }
func (s stdio) Close() error                { return nil }
