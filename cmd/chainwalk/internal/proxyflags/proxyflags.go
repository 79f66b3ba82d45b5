// Package proxyflags has the flags of kube-proxy: those that a configuration file can replace, with their defaults and in groups.
package proxyflags

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
	kubeproxy "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/proxier"
)

// Flags are kube-proxy's flags that a configuration file can replace. Each writes into its field of the configuration.
type Flags struct {
	set           *pflag.FlagSet // of the group that is made
	groups        []group
	configuration *kubeproxy.KubeProxyConfiguration
}

// group are flags about one thing.
type group struct {
	title string
	set   *pflag.FlagSet
}

// Add adds the flags to a command. Their defaults are kube-proxy's.
func Add(cmd *cobra.Command) *Flags {
	f := &Flags{configuration: proxier.WithDefaults(&kubeproxy.KubeProxyConfiguration{})}
	logsapi.SetRecommendedLoggingConfiguration(&f.configuration.Logging)
	for _, g := range []struct {
		title string
		add   func()
	}{
		{"Node", f.addNode}, {"Rules", f.addIPTables}, {"Traffic of this node's pods", f.addLocalTraffic}, {"Connections", f.addConntrack},
		{"Health and metrics", f.addServing}, {"API server", f.addClient}, {"Logging", f.addLogging},
	} {
		f.set = pflag.NewFlagSet(g.title, pflag.ContinueOnError)
		g.add()
		f.groups = append(f.groups, group{g.title, f.set})
		cmd.Flags().AddFlagSet(f.set)
	}
	return f
}

// Configuration is the one that the flags ask for. A least period of 0 is "at once", where a file that has 0 means the
// default; the shortest period there is says the same to both.
func (f *Flags) Configuration() *kubeproxy.KubeProxyConfiguration {
	c := f.configuration
	if least := &c.IPTables.MinSyncPeriod.Duration; *least == 0 {
		*least = time.Nanosecond
	}
	if c.Mode == proxier.ModeNFTables { // kube-proxy has no flags of its own for this mode
		n := &c.NFTables
		n.MasqueradeAll, n.SyncPeriod, n.MinSyncPeriod = c.IPTables.MasqueradeAll, c.IPTables.SyncPeriod, c.IPTables.MinSyncPeriod
	}
	return c
}

// Given returns the names of the flags that were set.
func (f *Flags) Given() []string {
	var names []string
	for _, group := range f.groups {
		group.set.VisitAll(func(flag *pflag.Flag) {
			if flag.Changed {
				names = append(names, flag.Name)
			}
		})
	}
	return names
}

// Over puts the value of a flag over that of a configuration file, if it is one that counts beside a file.
func (f *Flags) Over(c *kubeproxy.KubeProxyConfiguration, flag string) bool {
	from := f.configuration
	switch flag {
	case "hostname-override":
		c.HostnameOverride = from.HostnameOverride
	case "v":
		c.Logging.Verbosity = from.Logging.Verbosity
	case "logging-format":
		c.Logging.Format = from.Logging.Format
	case "vmodule", "log-flush-frequency": // they change nothing
	default:
		return false
	}
	return true
}

// addLogging adds the flags of logging that kube-proxy has in common with all of Kubernetes.
func (f *Flags) addLogging() {
	c := &f.configuration.Logging
	f.set.VarP(logsapi.VerbosityLevelPflag(&c.Verbosity), "v", "v", "how much to log: 0 is what matters, 2 also each sync, 3 also what is "+
		"tried again")
	f.set.StringVar(&c.Format, "logging-format", c.Format, "how to write the log: text or json")
	f.set.Var(logsapi.VModuleConfigurationPflag(&c.VModule), "vmodule", "pattern=N,...: taken and changes nothing, as -v counts for every "+
		"file")
	f.set.DurationVar(&c.FlushFrequency.Duration.Duration, "log-flush-frequency", c.FlushFrequency.Duration.Duration,
		"taken and changes nothing, as each line is written at once")
}

// Help has the help of a command show its own flags and then these, group by group: they are too many for one list.
func (f *Flags) Help(cmd *cobra.Command, title string, own *pflag.FlagSet) {
	groups := append([]group{{title, own}}, f.groups...)
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		w := cmd.OutOrStderr()
		fmt.Fprintf(w, "Usage:\n  %s\n\nExamples:\n%s\n", cmd.UseLine(), cmd.Example)
		for _, group := range groups {
			fmt.Fprintf(w, "\n%s:\n%s", group.title, group.set.FlagUsages())
		}
		return nil
	})
}

func (f *Flags) addNode() {
	c := f.configuration
	f.set.StringVar(&c.HostnameOverride, "hostname-override", c.HostnameOverride, "the node's name in the API (default: the host's name)")
	f.set.StringVar(&c.BindAddress, "bind-address", c.BindAddress, "the node's main IP address; nothing listens there")
	f.set.Var(cliflag.NewMapStringBool(&c.FeatureGates), "feature-gates", "gates of kube-proxy: AllowServiceExternalIPs counts, the others "+
		"are taken and change nothing")
	f.set.Var((*int32Value)(c.OOMScoreAdj), "oom-score-adj", "the process's oom-score-adj, -1000 to 1000")
	f.set.DurationVar(&c.ConfigSyncPeriod.Duration, "config-sync-period", c.ConfigSyncPeriod.Duration,
		"how often everything is taken from the API again")
}

func (f *Flags) addServing() {
	c := f.configuration
	f.set.StringVar(&c.HealthzBindAddress, "healthz-bind-address", c.HealthzBindAddress, "IP address and port for /healthz and /livez")
	f.set.StringVar(&c.MetricsBindAddress, "metrics-bind-address", c.MetricsBindAddress,
		"IP address and port for /metrics, /proxyMode and /configz")
	f.set.BoolVar(&c.BindAddressHardFail, "bind-address-hard-fail", c.BindAddressHardFail, "exit if one of these cannot be listened at")
	f.set.BoolVar(&c.EnableProfiling, "profiling", c.EnableProfiling, "serve /debug/pprof beside the metrics")
	f.set.StringVar(&c.ShowHiddenMetricsForVersion, "show-hidden-metrics-for-version", c.ShowHiddenMetricsForVersion,
		"show metrics that this version of Kubernetes still had")
}

func (f *Flags) addIPTables() {
	c := f.configuration
	f.set.Var((*modeValue)(&c.Mode), "proxy-mode", "the proxy mode: iptables or nftables")
	f.set.Var((*int32Value)(c.IPTables.MasqueradeBit), "iptables-masquerade-bit",
		"the bit of the packet mark that asks for masquerading, 0 to 31")
	f.set.BoolVar(&c.IPTables.MasqueradeAll, "masquerade-all", c.IPTables.MasqueradeAll, "masquerade all traffic to cluster IPs")
	f.set.BoolVar(c.IPTables.LocalhostNodePorts, "iptables-localhost-nodeports", *c.IPTables.LocalhostNodePorts,
		"serve node ports at 127.0.0.0/8 too, in mode iptables")
	f.set.DurationVar(&c.IPTables.SyncPeriod.Duration, "iptables-sync-period", c.IPTables.SyncPeriod.Duration,
		"how often to look for flushed tables, and how soon to try again what failed, in every mode")
	f.set.DurationVar(&c.IPTables.MinSyncPeriod.Duration, "iptables-min-sync-period", c.IPTables.MinSyncPeriod.Duration,
		"the least time between two syncs, in every mode")
	f.set.StringSliceVar(&c.NodePortAddresses, "nodeport-addresses", c.NodePortAddresses,
		`ranges of the node's addresses that serve node ports; "primary", "localhost" and "all" stand for some `+
			`(default: every address; in mode nftables "primary")`)
}

func (f *Flags) addLocalTraffic() {
	c := f.configuration
	f.set.Var((*localModeValue)(&c.DetectLocalMode), "detect-local-mode",
		"how traffic of this node's pods is recognised: ClusterCIDR, NodeCIDR, BridgeInterface or InterfaceNamePrefix")
	f.set.StringVar(&c.ClusterCIDR, "cluster-cidr", c.ClusterCIDR,
		"the range of the pods' addresses, or one of each family with a comma between")
	f.set.StringVar(&c.DetectLocal.BridgeInterface, "pod-bridge-interface", c.DetectLocal.BridgeInterface, "the bridge that all pods are on")
	f.set.StringVar(&c.DetectLocal.InterfaceNamePrefix, "pod-interface-name-prefix", c.DetectLocal.InterfaceNamePrefix,
		"how the names of the pods' devices begin")
}

func (f *Flags) addConntrack() {
	c := &f.configuration.Conntrack
	f.set.Var((*int32Value)(c.MaxPerCore), "conntrack-max-per-core",
		"tracked connections for each processor; 0 leaves the limit and ignores --conntrack-min")
	f.set.Var((*int32Value)(c.Min), "conntrack-min", "the least limit of tracked connections")
	f.set.BoolVar(&c.TCPBeLiberal, "conntrack-tcp-be-liberal", c.TCPBeLiberal, "take TCP segments outside of the window for valid ones")
	duration := func(d *metav1.Duration, name, usage string) {
		f.set.DurationVar(&d.Duration, name, d.Duration, usage+"; 0 leaves it as it is")
	}
	duration(c.TCPEstablishedTimeout, "conntrack-tcp-timeout-established", "how long an idle TCP connection is kept")
	duration(c.TCPCloseWaitTimeout, "conntrack-tcp-timeout-close-wait", "how long an idle TCP connection in state CLOSE_WAIT is kept")
	duration(&c.UDPTimeout, "conntrack-udp-timeout", "how long an idle UDP entry without a reply is kept")
	duration(&c.UDPStreamTimeout, "conntrack-udp-timeout-stream", "how long an idle UDP entry with packets both ways is kept")
}

func (f *Flags) addClient() {
	c := &f.configuration.ClientConnection
	f.set.StringVar(&c.Kubeconfig, "kubeconfig", c.Kubeconfig, "file that says how to reach the API server (default: as a pod does)")
	f.set.StringVar(&c.ContentType, "kube-api-content-type", c.ContentType, "content type of requests to the API server")
	f.set.Float32Var(&c.QPS, "kube-api-qps", c.QPS, "requests to the API server in a second")
	f.set.Var((*int32Value)(&c.Burst), "kube-api-burst", "requests to the API server at once")
}

// int32Value is a flag with the value of an int32 that is there already.
type int32Value int32

func (v *int32Value) String() string { return strconv.Itoa(int(*v)) }
func (v *int32Value) Type() string   { return "int32" }
func (v *int32Value) Set(text string) error {
	n, err := strconv.ParseInt(text, 0, 32)
	*v = int32Value(n)
	return err
}

// modeValue and localModeValue are words that Validate checks.
type modeValue kubeproxy.ProxyMode

func (v *modeValue) String() string { return string(*v) }
func (v *modeValue) Type() string   { return "mode" }
func (v *modeValue) Set(text string) error {
	*v = modeValue(text)
	return nil
}

type localModeValue kubeproxy.LocalMode

func (v *localModeValue) String() string { return string(*v) }
func (v *localModeValue) Type() string   { return "mode" }
func (v *localModeValue) Set(text string) error {
	*v = localModeValue(text)
	return nil
}
