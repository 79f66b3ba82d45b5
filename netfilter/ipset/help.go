package ipset

import "fmt"

// help has words of its own. With -q nothing is said of types, but in the shell.
func (r *run) help(words []string) error {
	fmt.Fprintf(r.Stdout, "ipset %s\n\nUsage: ipset [options] COMMAND\n\nSee the manual page of ipset.\n", version)
	if r.quiet && !r.shell {
		return r.done()
	}
	if len(words) == 0 {
		fmt.Fprintln(r.Stdout, "\nTypes of sets:")
		for _, k := range setTypes {
			fmt.Fprintln(r.Stdout, k.name)
		}
		return r.done()
	}
	kind := findType(words[0])
	if kind == nil {
		return r.usage("Unknown settype: `%s'", words[0])
	}
	fmt.Fprintf(r.Stdout, "\n%s, revision %d\n", kind.name, kind.revision)
	for _, c := range []command{cmdCreate, cmdAdd, cmdDel, cmdTest} {
		fmt.Fprintf(r.Stdout, "%s:", c.word())
		for _, k := range kind.keywords(c) {
			fmt.Fprintf(r.Stdout, " [%s]", k.name)
		}
		fmt.Fprintln(r.Stdout)
	}
	return r.done()
}
