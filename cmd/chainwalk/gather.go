package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/scenarios/users/gather"
)

// gatherOptions say from which cluster to gather, and how.
type gatherOptions struct {
	kubeconfig, context string
	current             bool
	nodes               []string
	selector            string
	namespace           string
	image, secret       string
	nodeTime            time.Duration
	yes                 bool
	save                string
	anonymise           anonymiseOptions
}

// gatherFlags have a meaning only when chainwalk gathers from a cluster.
var gatherFlags = []string{"nodes", "selector", "pod-namespace", "image", "image-pull-secret", "node-timeout", "yes", "save"}

func (o *gatherOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file of a cluster to gather objects and snapshots from")
	flags.StringVar(&o.context, "context", "", "context of the kubeconfig: gather from its cluster")
	flags.BoolVarP(&o.current, "all-namespaces", "A", false,
		"gather objects of all namespaces, and snapshots, from the current context's cluster")
	flags.StringSliceVar(&o.nodes, "nodes", nil, "names of the nodes to ask for a snapshot, with commas between them (all)")
	flags.StringVarP(&o.selector, "selector", "l", "", "labels of the nodes to ask for a snapshot, as kubectl takes them (all)")
	flags.StringVar(&o.namespace, "pod-namespace", "kube-system", "namespace of the pods that take the snapshots")
	flags.StringVar(&o.image, "image", "", "image of chainwalk-collect for these pods (the released one of this version)")
	flags.StringVar(&o.secret, "image-pull-secret", "", "name of the secret, in --pod-namespace, for the registry of --image")
	flags.DurationVar(&o.nodeTime, "node-timeout", 2*time.Minute, "how long a node may take to start its pod, and as long again to print")
	flags.BoolVarP(&o.yes, "yes", "y", false, "make the pods without asking")
	flags.StringVar(&o.save, "save", "", "folder for the gathered objects and snapshots, which --saved takes")
	o.anonymise.addFlags(flags, "with --save: save it with other names and addresses, so that you can give the folder away")
}

// asked says whether a cluster is to be gathered from, and askedBy by which flag.
func (o *gatherOptions) asked() bool { return o.askedBy() != "" }

func (o *gatherOptions) askedBy() string {
	switch {
	case o.kubeconfig != "":
		return "--kubeconfig"
	case o.context != "":
		return "--context"
	case o.current:
		return "-A (--all-namespaces)"
	}
	return ""
}

// checkAsked refuses flags about gathering where nothing is gathered.
func (o *gatherOptions) checkAsked(flags *pflag.FlagSet) error {
	for _, name := range gatherFlags {
		if f := flags.Lookup(name); f != nil && f.Changed && !o.asked() {
			return fmt.Errorf("--%s is for gathering from a cluster: give -A (--all-namespaces), --context or --kubeconfig as well", name)
		}
	}
	return nil
}

func newGatherCommand(s streams) *cobra.Command {
	var o gatherOptions
	var clean, rights bool
	var run string
	cmd := &cobra.Command{
		Use:   "gather --save FOLDER",
		Short: "Keep a running cluster's objects and its nodes' snapshots in a folder",
		Long: `Reads Services, EndpointSlices, Nodes, Pods, Namespaces, NetworkPolicies and kube-proxy's ConfigMap from the API server, and
has a pod on each node print its NodeSnapshot. It says beforehand what it will make, and asks unless --yes is given. The pods
use the node's network with the capabilities NET_ADMIN, NET_RAW and SYS_CHROOT, have the node's files mounted read-only, and
are removed when they have answered, also after Ctrl-C. Secrets are not read.

doctor, why, trace, migrate and "scenario from" gather by themselves with -A, --context or --kubeconfig. With --saved FOLDER they read the
folder that gather has written. --anonymise saves the cluster with other names and addresses; "chainwalk anonymise" does so with a folder
that exists.

--rights prints the RBAC rules that it needs. --clean removes the pods that a killed run has left.

Exit status: 0 every node answered, 1 some did not, 2 nothing was gathered.`,
		Example: `  chainwalk gather --save cluster
  chainwalk gather --save cluster --context prod --nodes worker1,worker2 --yes
  chainwalk gather --save for-the-issue --anonymise
  chainwalk gather --rights --pod-namespace chainwalk | kubectl apply -f -
  chainwalk gather --clean`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case rights:
				fmt.Fprint(s.out, gather.RolesYAML(gather.Rights(o.namespace)))
				return nil
			case clean:
				return o.clean(cmd.Context(), s, run)
			case o.save == "":
				return errors.New(missingFlag(cmd.Flags().Lookup("save")))
			}
			if err := o.anonymise.check(o.save); err != nil {
				return err
			}
			gathered, err := o.gathered(cmd.Context(), s)
			if err == nil && len(gathered.Silent()) > 0 {
				err = errNotHeld
			}
			return err
		},
	}
	o.addFlags(cmd.Flags())
	cmd.Flags().BoolVar(&clean, "clean", false, "remove the pods that runs have left in --pod-namespace, and gather nothing")
	cmd.Flags().StringVar(&run, "run", "", "with --clean: the run whose pods are removed (all)")
	cmd.Flags().BoolVar(&rights, "rights", false, "print the roles that gathering takes, and gather nothing")
	cmd.MarkFlagsMutuallyExclusive("clean", "rights", "save")
	return cmd
}

// gathered gathers, keeps what --save wants kept, and says what could not be read.
func (o *gatherOptions) gathered(ctx context.Context, s streams) (*gather.Gathered, error) {
	g, err := o.gatherer(s)
	if err != nil {
		return nil, err
	}
	gathered, err := g.Gather(ctx)
	if err != nil {
		return nil, err
	}
	for _, note := range gathered.Notes {
		fmt.Fprintf(s.errOut, "chainwalk: note: %s\n", note)
	}
	if gathered.Grant != "" {
		fmt.Fprintf(s.errOut, "chainwalk: note: what grants it:\n\n%s\n", gathered.Grant)
	}
	if o.save == "" {
		return gathered, nil
	}
	kept := gathered
	if o.anonymise.on {
		if kept, err = o.anonymise.anonymous(gathered, "snapshot of "); err != nil {
			return nil, fmt.Errorf("%w (gather with --save alone, and give the folder to \"chainwalk anonymise\")", err)
		}
	}
	return gathered, byFlag("save", keep(s, o.save, kept))
}

// keep writes what is known of a cluster to a folder, and says so.
func keep(s streams, folder string, g *gather.Gathered) error {
	if err := g.Save(folder, clock.RealClock{}.Now()); err != nil {
		return err
	}
	fmt.Fprintf(s.errOut, "chainwalk: kept in %s: %d objects, %d of %d nodes\n", folder, len(g.Objects), len(g.Snapshots()), len(g.Nodes))
	if g.Anonymous {
		fmt.Fprintln(s.errOut, "chainwalk: names and addresses are others; docs/gather.md says what such a folder still shows")
	}
	return nil
}

// byFlag is an error about the folder that a flag has named.
func byFlag(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("--%s: %w", name, err)
}

// gatherer is one for the cluster that is asked for.
func (o *gatherOptions) gatherer(s streams) (*gather.Gatherer, error) {
	g, err := o.connected(s)
	if err != nil {
		return nil, err
	}
	if o.nodeTime < time.Second {
		return nil, fmt.Errorf("--node-timeout %s: want at least 1s", o.nodeTime)
	}
	if o.selector != "" {
		if g.Selector, err = labels.Parse(o.selector); err != nil {
			return nil, fmt.Errorf("--selector %s: %w", o.selector, err)
		}
	}
	if g.Image == "" {
		if g.Image = releasedImage(buildVersion()); g.Image == "" {
			return nil, errors.New("this chainwalk was not released, so there is no image of its version: " +
				"name one of chainwalk-collect with --image (docs/gather.md says how to make it)")
		}
	}
	if o.save != "" {
		return g, byFlag("save", gather.CheckFolder(o.save))
	}
	return g, nil
}

// connected is one that can reach the cluster's API server, with what all that is done there needs.
func (o *gatherOptions) connected(s streams) (*gather.Gatherer, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: o.context}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster to gather from: %w (--kubeconfig, --context)", err)
	}
	api, err := gather.NewAPI(rest.AddUserAgent(config, "chainwalk-gather"))
	if err != nil {
		return nil, err
	}
	var one sync.Mutex
	return &gather.Gatherer{
		API: api, Namespace: o.namespace, Image: o.image, PullSecret: o.secret, Run: newRun(), Nodes: o.nodes, NodeTime: o.nodeTime,
		Confirm: func(ctx context.Context, plan string) error { return confirm(ctx, s, plan, o.yes) },
		Say: func(line string) {
			one.Lock()
			defer one.Unlock()
			fmt.Fprintf(s.errOut, "chainwalk: %s\n", line)
		},
		Pause: pause,
	}, nil
}

func (o *gatherOptions) clean(ctx context.Context, s streams, run string) error {
	g, err := o.connected(s)
	if err != nil {
		return err
	}
	removed, err := g.Clean(ctx, run)
	for _, name := range removed {
		fmt.Fprintf(s.out, "removed pod %s/%s\n", o.namespace, name)
	}
	if err == nil && len(removed) == 0 {
		fmt.Fprintf(s.out, "no pod of chainwalk's is in namespace %s\n", o.namespace)
	}
	return err
}

// newRun is a word that no other run has.
func newRun() string {
	word := make([]byte, 4)
	_, _ = rand.Read(word) // it never fails
	return hex.EncodeToString(word)
}

// pause waits, unless the context ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-clock.RealClock{}.After(d):
		return nil
	}
}

// confirm says what will be made, and asks about it unless yes is given. Where nobody can answer, it is refused.
func confirm(ctx context.Context, s streams, plan string, yes bool) error {
	fmt.Fprint(s.errOut, plan)
	if yes {
		return nil
	}
	if !isTerminal(s.in) {
		return errors.New("nothing was made: standard input is no terminal, so there is no one to ask; --yes makes the pods without asking")
	}
	return ask(ctx, s)
}

// ask waits for the answer y.
func ask(ctx context.Context, s streams) error {
	fmt.Fprint(s.errOut, "Make them? [y/N] ")
	answer := make(chan string, 1)
	go func() { answer <- firstWord(s.in) }()
	select {
	case <-ctx.Done():
		return errors.New("nothing was made: interrupted")
	case word := <-answer:
		if word != "y" && word != "yes" {
			return errors.New("nothing was made: the answer was not y")
		}
	}
	return nil
}

// firstWord is the first line that is typed, in small letters.
func firstWord(r io.Reader) string {
	line, _ := bufio.NewReader(r).ReadString('\n') // no line is no
	return strings.ToLower(strings.TrimSpace(line))
}

// released are the versions of which there is an image.
var released = regexp.MustCompile(`^v\d+\.\d+\.\d+$`)

// releasedImage is the collector's image of a version; empty if that was not released.
func releasedImage(version string) string {
	if !released.MatchString(version) {
		return ""
	}
	return "ghcr.io/chainwalk/chainwalk-collect:" + version
}

// buildVersion is the version of the module that the program was built from.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return info.Main.Version
}
