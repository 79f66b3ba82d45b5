package proxier

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kubeproxy "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/proxier/gates"
)

// Ports and values that kube-proxy has too.
const (
	healthzPort = "10256"
	metricsPort = "10249"

	defaultOOMScoreAdj    = -999
	defaultMaxPerCore     = 32 * 1024
	defaultConntrackMin   = 128 * 1024
	defaultAPIContentType = "application/vnd.kubernetes.protobuf"
)

// WithDefaults returns a copy of the configuration with kube-proxy's defaults
// in the fields that are empty.
func WithDefaults(configuration *kubeproxy.KubeProxyConfiguration) *kubeproxy.KubeProxyConfiguration {
	c := configuration.DeepCopy()
	c.APIVersion, c.Kind = kubeproxy.SchemeGroupVersion.String(), "KubeProxyConfiguration"
	defaultTo(&c.BindAddress, "0.0.0.0")
	anyAddress, loopback := "0.0.0.0", "127.0.0.1"
	if parseAddr(c.BindAddress).Is6() {
		anyAddress, loopback = "::", "::1"
	}
	c.HealthzBindAddress = listenAddress(c.HealthzBindAddress, anyAddress, healthzPort)
	c.MetricsBindAddress = listenAddress(c.MetricsBindAddress, loopback, metricsPort)
	defaultTo(&c.Mode, ModeIPTables)
	defaultTo(&c.DetectLocalMode, localByClusterCIDR)
	if c.Mode == ModeNFTables && len(c.NodePortAddresses) == 0 {
		c.NodePortAddresses = []string{primaryAddresses}
	}
	c.NFTables.MasqueradeBit = orDefault(c.NFTables.MasqueradeBit, 14)
	defaultTo(&c.NFTables.SyncPeriod.Duration, defaultSyncPeriod)
	defaultTo(&c.NFTables.MinSyncPeriod.Duration, time.Second)
	c.IPTables.MasqueradeBit = orDefault(c.IPTables.MasqueradeBit, 14)
	c.IPTables.LocalhostNodePorts = orDefault(c.IPTables.LocalhostNodePorts, true)
	defaultTo(&c.IPTables.SyncPeriod.Duration, defaultSyncPeriod)
	defaultTo(&c.IPTables.MinSyncPeriod.Duration, time.Second)
	defaultTo(&c.ConfigSyncPeriod.Duration, 15*time.Minute)
	c.OOMScoreAdj = orDefault(c.OOMScoreAdj, defaultOOMScoreAdj)
	c.Conntrack.MaxPerCore = orDefault(c.Conntrack.MaxPerCore, defaultMaxPerCore)
	c.Conntrack.Min = orDefault(c.Conntrack.Min, defaultConntrackMin)
	c.Conntrack.TCPEstablishedTimeout = orDefault(c.Conntrack.TCPEstablishedTimeout, metav1.Duration{Duration: 24 * time.Hour})
	c.Conntrack.TCPCloseWaitTimeout = orDefault(c.Conntrack.TCPCloseWaitTimeout, metav1.Duration{Duration: time.Hour})
	defaultTo(&c.ClientConnection.ContentType, defaultAPIContentType)
	defaultTo(&c.ClientConnection.QPS, 5)
	defaultTo(&c.ClientConnection.Burst, 10)
	return c
}

// listenAddress adds what is missing. An IPv6 address may have brackets only
// with a port.
func listenAddress(text, address, port string) string {
	if text == "" {
		return net.JoinHostPort(address, port)
	}
	if parseAddr(text).IsValid() {
		return net.JoinHostPort(text, port)
	}
	return text
}

func orDefault[T any](value *T, def T) *T {
	if value == nil {
		return &def
	}
	return value
}

func defaultTo[T comparable](value *T, def T) {
	var zero T
	if *value == zero {
		*value = def
	}
}

// Validate reports all mistakes in a configuration as WithDefaults returns it.
func Validate(c *kubeproxy.KubeProxyConfiguration) error {
	root := field.NewPath("KubeProxyConfiguration")
	errs := slices.Concat(
		validateMode(c, root),
		validateRules(rulesOf(c), root),
		validateConntrack(&c.Conntrack, root.Child("conntrack")),
		validateDetectLocal(c, root),
		validateNodePortAddresses(c.NodePortAddresses, root.Child("nodePortAddresses")),
		validateEndpoints(c, root),
	)
	if c.ConfigSyncPeriod.Duration < 0 {
		errs = append(errs, field.Invalid(root.Child("configSyncPeriod"), c.ConfigSyncPeriod.Duration.String(), "must be greater than 0"))
	}
	if c.OOMScoreAdj != nil && (*c.OOMScoreAdj < -1000 || *c.OOMScoreAdj > 1000) {
		errs = append(errs, field.Invalid(root.Child("oomScoreAdj"), *c.OOMScoreAdj, "must be -1000 to 1000"))
	}
	return errs.ToAggregate()
}

func validateMode(c *kubeproxy.KubeProxyConfiguration, root *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch c.Mode {
	case ModeIPTables, ModeNFTables:
	case modeIPVS, modeKernelspace:
		errs = append(errs, field.Invalid(root.Child("mode"), c.Mode, "not supported: iptables and nftables are"))
	default:
		errs = append(errs, field.Invalid(root.Child("mode"), c.Mode, "unknown; must be iptables, nftables or empty"))
	}
	if _, err := gates.New(c.FeatureGates); err != nil {
		errs = append(errs, field.Invalid(root.Child("featureGates"), c.FeatureGates, err.Error()))
	}
	if c.ShowHiddenMetricsForVersion != "" {
		errs = append(errs, field.Invalid(root.Child("showHiddenMetricsForVersion"), c.ShowHiddenMetricsForVersion,
			"not supported: no metric is hidden in any version"))
	}
	return errs
}

// rulesConfiguration is what the sections iptables and nftables say alike.
type rulesConfiguration struct {
	section                   string
	masqueradeBit             int32
	masqueradeAll             bool
	syncPeriod, minSyncPeriod time.Duration
}

// rulesOf returns the section of the mode, of a configuration as WithDefaults returns it.
func rulesOf(c *kubeproxy.KubeProxyConfiguration) rulesConfiguration {
	if c.Mode == ModeNFTables {
		n := &c.NFTables
		return rulesConfiguration{"nftables", *n.MasqueradeBit, n.MasqueradeAll, n.SyncPeriod.Duration, n.MinSyncPeriod.Duration}
	}
	i := &c.IPTables
	return rulesConfiguration{"iptables", *i.MasqueradeBit, i.MasqueradeAll, i.SyncPeriod.Duration, i.MinSyncPeriod.Duration}
}

// SyncPeriod is the period of the mode after which a failed sync is tried again at the latest, of a configuration as WithDefaults returns
// it.
func SyncPeriod(c *kubeproxy.KubeProxyConfiguration) time.Duration { return rulesOf(c).syncPeriod }

func validateRules(c rulesConfiguration, root *field.Path) field.ErrorList {
	path := root.Child(c.section)
	var errs field.ErrorList
	if c.masqueradeBit < 0 || c.masqueradeBit > 31 {
		errs = append(errs, field.Invalid(path.Child("masqueradeBit"), c.masqueradeBit, "must be 0 to 31"))
	}
	if c.syncPeriod <= 0 {
		errs = append(errs, field.Invalid(path.Child("syncPeriod"), c.syncPeriod.String(), "must be greater than 0"))
	}
	if c.minSyncPeriod < 0 {
		errs = append(errs, field.Invalid(path.Child("minSyncPeriod"), c.minSyncPeriod.String(), "must not be negative"))
	}
	if c.minSyncPeriod > c.syncPeriod {
		errs = append(errs, field.Invalid(path.Child("minSyncPeriod"), c.minSyncPeriod.String(), "must not be greater than syncPeriod"))
	}
	return errs
}

func validateConntrack(c *kubeproxy.KubeProxyConntrackConfiguration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	counts := []struct {
		name  string
		value *int32
	}{{"maxPerCore", c.MaxPerCore}, {"min", c.Min}}
	for _, count := range counts {
		if count.value != nil && *count.value < 0 {
			errs = append(errs, field.Invalid(path.Child(count.name), *count.value, "must not be negative"))
		}
	}
	timeouts := []struct {
		name  string
		value *metav1.Duration
	}{
		{"tcpEstablishedTimeout", c.TCPEstablishedTimeout},
		{"tcpCloseWaitTimeout", c.TCPCloseWaitTimeout},
		{"udpTimeout", &c.UDPTimeout},
		{"udpStreamTimeout", &c.UDPStreamTimeout},
	}
	for _, timeout := range timeouts {
		if timeout.value != nil && timeout.value.Duration < 0 {
			errs = append(errs, field.Invalid(path.Child(timeout.name), timeout.value.Duration.String(), "must not be negative"))
		}
	}
	return errs
}

func validateDetectLocal(c *kubeproxy.KubeProxyConfiguration, root *field.Path) field.ErrorList {
	switch c.DetectLocalMode {
	case localByClusterCIDR:
		return validateClusterCIDRs(clusterCIDRs(c), root.Child("clusterCIDR"))
	case LocalModeNodeCIDR:
		return nil
	case localByBridgeInterface:
		return required(c.DetectLocal.BridgeInterface, root.Child("detectLocal", "bridgeInterface"))
	case localByInterfaceNamePrefix:
		return required(c.DetectLocal.InterfaceNamePrefix, root.Child("detectLocal", "interfaceNamePrefix"))
	default:
		modes := []kubeproxy.LocalMode{localByClusterCIDR, LocalModeNodeCIDR,
			localByBridgeInterface, localByInterfaceNamePrefix, ""}
		return field.ErrorList{field.NotSupported(root.Child("detectLocalMode"), c.DetectLocalMode, modes)}
	}
}

func required(value string, path *field.Path) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "detectLocalMode needs it")}
	}
	return nil
}

// clusterCIDRs returns the ranges of the field clusterCIDR, which may hold one
// for each family.
func clusterCIDRs(c *kubeproxy.KubeProxyConfiguration) []string {
	if c.ClusterCIDR == "" {
		return nil
	}
	return strings.Split(c.ClusterCIDR, ",")
}

func validateClusterCIDRs(texts []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	families := map[bool]bool{}
	for _, text := range texts {
		prefix, err := parsePrefix(text)
		if err != nil {
			errs = append(errs, field.Invalid(path, text, err.Error()))
			continue
		}
		families[prefix.Addr().Is6()] = true
	}
	if len(errs) == 0 && len(texts) != len(families) {
		errs = append(errs, field.Invalid(path, strings.Join(texts, ","), "must be one range, or one of each family with a comma between"))
	}
	return errs
}

func validateNodePortAddresses(texts []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, text := range texts {
		if text == primaryAddresses || text == localhostAddresses || text == allAddresses {
			continue
		}
		if _, err := parsePrefix(text); err != nil {
			errs = append(errs, field.Invalid(path.Index(i), text, err.Error()+`; must be a range, "primary", "localhost" or "all"`))
		}
	}
	return errs
}

// validateEndpoints checks the addresses that kube-proxy listens at. For health
// checks and metrics, port and address may each be left out.
func validateEndpoints(c *kubeproxy.KubeProxyConfiguration, root *field.Path) field.ErrorList {
	var errs field.ErrorList
	if !parseAddr(c.BindAddress).IsValid() {
		errs = append(errs, field.Invalid(root.Child("bindAddress"), c.BindAddress, "must be an IP address"))
	}
	if !isListenAddress(c.HealthzBindAddress) {
		errs = append(errs, field.Invalid(root.Child("healthzBindAddress"), c.HealthzBindAddress, "must be an IP address with or without a port"))
	}
	if !isListenAddress(c.MetricsBindAddress) {
		errs = append(errs, field.Invalid(root.Child("metricsBindAddress"), c.MetricsBindAddress, "must be an IP address with or without a port"))
	}
	return errs
}

func isListenAddress(text string) bool {
	if text == "" || parseAddr(text).IsValid() {
		return true
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return false
	}
	number, err := strconv.ParseUint(port, 10, 16)
	return err == nil && number > 0 && parseAddr(host).IsValid()
}
