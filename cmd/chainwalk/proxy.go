package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/go-logr/logr/funcr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
	kubeproxy "k8s.io/kube-proxy/config/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/chainwalk/chainwalk/cmd/chainwalk/internal/proxyflags"
	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/iptables"
	"github.com/chainwalk/chainwalk/proxier/nftables"
	"github.com/chainwalk/chainwalk/proxier/server"
	"github.com/chainwalk/chainwalk/proxier/sysctl"
)

type proxyOptions struct {
	config   string
	writeTo  string
	cleanup  bool
	initOnly bool
	master   string
	objects  []string
	fake     bool
	noHourly bool
	flags    *proxyflags.Flags
}

func newProxyCommand(s streams) *cobra.Command {
	var o proxyOptions
	cmd := &cobra.Command{
		Use:   "proxy",
		Short: "Run as the kube-proxy of this machine, or of a fake kernel",
		Long: `Watches Services and EndpointSlices in the API and keeps the rules of this machine up to date, those of iptables or, with
--proxy-mode nftables, those of nftables. It takes the flags and the configuration file of kube-proxy. With --config, it ignores flags
that the file can replace, apart from --hostname-override and those for logging.

With --fake it writes to the fake kernel of "chainwalk tool" and needs no privileges: CHAINWALK_STATE is the folder, and
"chainwalk tool iptables-save", or "chainwalk tool nft list ruleset", shows the rules. With -f it reads the objects from files, again
whenever they change, and needs no API server. The files must contain the Node of the proxy; with --fake, the only Node is taken.`,
		Example: `  chainwalk proxy --config kube-proxy.yaml
  chainwalk proxy --fake -f objects.yaml
  chainwalk proxy --fake --proxy-mode nftables -f objects.yaml
  chainwalk proxy --cleanup`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runProxy(cmd.Context(), s, o)
		},
	}
	flags := pflag.NewFlagSet("what to do", pflag.ContinueOnError)
	flags.StringVar(&o.config, "config", "", "KubeProxyConfiguration (v1alpha1) file; the process exits when it changes")
	flags.StringVar(&o.writeTo, "write-config-to", "", "write the configuration with all defaults to this file, and exit")
	flags.BoolVar(&o.cleanup, "cleanup", false, "remove all rules of kube-proxy, and exit")
	flags.BoolVar(&o.initOnly, "init-only", false, "make the kernel settings, which needs all privileges, and exit")
	flags.StringVar(&o.master, "master", "", "address of the API server, instead of that in the kubeconfig")
	flags.StringArrayVarP(&o.objects, "filename", "f", nil, "file with Kubernetes objects instead of an API server (repeatable, - is stdin)")
	flags.BoolVar(&o.fake, "fake", false, "write to the fake kernel")
	flags.BoolVar(&o.noHourly, "no-hourly-full-sync", false,
		"leave out the hourly full sync while there are more than 1,000 endpoints, as kube-proxy v1.36 does")
	cmd.Flags().AddFlagSet(flags)
	o.flags = proxyflags.Add(cmd)
	o.flags.Help(cmd, "What to do", flags)
	completeWords(cmd, "proxy-mode", "iptables", "nftables")
	completeWords(cmd, "detect-local-mode", "ClusterCIDR", "NodeCIDR", "BridgeInterface", "InterfaceNamePrefix")
	return cmd
}

func runProxy(ctx context.Context, s streams, o proxyOptions) error {
	configuration, err := proxyConfiguration(s, o)
	if err != nil {
		return err
	}
	if o.writeTo != "" {
		return writeConfiguration(o.writeTo, configuration)
	}
	host, closeHost, err := proxyHost(o.fake)
	if err != nil {
		return err
	}
	defer closeHost()
	logger := proxyLogger(s, &configuration.Logging)
	switch {
	case o.cleanup:
		return removeRules(host, logger)
	case o.initOnly:
		return adjustKernel(host, configuration)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	options := server.Options{Configuration: configuration, NoHourlyFullSync: o.noHourly, Logger: logger}
	if len(o.objects) > 0 {
		store, err := fileStore(ctx, s, o, configuration, host, logger)
		if err != nil {
			return err
		}
		options.API = store.API()
	} else {
		client, err := apiClient(o.master, configuration)
		if err != nil {
			return err
		}
		options.API, options.Events = client.API(), client
	}
	if o.config != "" && o.config != "-" {
		if err := watchFile(ctx, o.config, func() { stop(errConfigChanged) }); err != nil {
			return fmt.Errorf("watching %s: %w", o.config, err)
		}
	}
	options.Host = *host
	err = server.Run(ctx, options)
	if err == nil && errors.Is(context.Cause(ctx), errConfigChanged) {
		return errConfigChanged
	}
	return err
}

// proxyConfiguration is that of the file, or of the flags.
func proxyConfiguration(s streams, o proxyOptions) (*kubeproxy.KubeProxyConfiguration, error) {
	configuration := o.flags.Configuration()
	if o.config != "" {
		var err error
		if configuration, err = readProxyConfig(s, o.config); err != nil {
			return nil, err
		}
		var ignored []string
		for _, flag := range o.flags.Given() {
			if o.flags.Over(configuration, flag) {
				continue
			}
			ignored = append(ignored, "--"+flag)
		}
		if len(ignored) > 0 {
			fmt.Fprintf(s.errOut, "chainwalk: warning: --config is given, so these flags do not count: %s\n", strings.Join(ignored, ", "))
		}
	}
	if format := configuration.Logging.Format; format != "" && format != logsapi.DefaultLogFormat && format != logsapi.JSONLogFormat {
		return nil, fmt.Errorf("logging format %q: want text or json", format)
	}
	configuration = proxier.WithDefaults(configuration)
	return configuration, proxier.Validate(configuration)
}

func writeConfiguration(file string, configuration *kubeproxy.KubeProxyConfiguration) error {
	text, err := yaml.Marshal(configuration)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// removeRules is --cleanup. It goes on with the other family, and the other mode, after an error. Where a mode's tools are missing, nothing
// of it is removed.
func removeRules(host *server.Host, logger klog.Logger) error {
	options := host.IPTables
	options.Logger = logger
	var rules []proxier.Rules
	legacy, missing := iptables.NewDualStack(host.Exec, options)
	for _, family := range legacy {
		rules = append(rules, proxier.IPTables{Tools: family})
	}
	nft, missingNFT := nftables.NewDualStack(host.Exec, nftables.Options{Logger: logger})
	for _, family := range nft {
		rules = append(rules, proxier.NFTables{Tools: family})
	}
	if len(rules) == 0 {
		return errors.Join(missing, missingNFT)
	}
	if proxier.Cleanup(logger, rules...) {
		return errors.New("cleanup: some rules are left, see above")
	}
	return nil
}

// adjustKernel is --init-only.
func adjustKernel(host *server.Host, configuration *kubeproxy.KubeProxyConfiguration) error {
	localhost := configuration.Mode == proxier.ModeIPTables && *configuration.IPTables.LocalhostNodePorts
	report, err := host.Settings.Apply(sysctl.Wanted(&configuration.Conntrack, host.Cores, localhost))
	if warning := report.Warning(); warning != "" {
		err = errors.Join(err, errors.New(warning))
	}
	return err
}

// proxyLogger writes what the verbosity lets through, as lines of text or of JSON.
func proxyLogger(s streams, c *logsapi.LoggingConfiguration) klog.Logger {
	options := funcr.Options{Verbosity: int(c.Verbosity)}
	if c.Format == logsapi.JSONLogFormat {
		return funcr.NewJSON(func(line string) { fmt.Fprintln(s.errOut, line) }, options)
	}
	return funcr.New(func(_, args string) { fmt.Fprintf(s.errOut, "chainwalk: %s\n", args) }, options)
}
