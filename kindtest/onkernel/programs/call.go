package programs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
)

// call is one run of a tool, on the real kernel and on the fake.
type call struct {
	// Phase is the phase that the call ends, if it was not the program that asked: what is compared there.
	Phase string `json:"phase,omitempty"`
	// Argv is what both tools got; argv[0] is the name by which the program called it.
	Argv  []string    `json:"argv"`
	Stdin string      `json:"stdin,omitempty"`
	Real  toolrun.Run `json:"real"`
	Fake  toolrun.Run `json:"fake"`
}

// String is the call as a shell has it, with its input below.
func (c *call) String() string {
	text := toolrun.CommandLine(c.Argv)
	if c.Stdin != "" {
		text += "\n" + strings.TrimSuffix(c.Stdin, "\n")
	}
	return text
}

// readCalls reads what recorders have written: a call a line.
func readCalls(in io.Reader) ([]call, error) {
	decoder := json.NewDecoder(in)
	decoder.DisallowUnknownFields()
	var calls []call
	for {
		var c call
		err := decoder.Decode(&c)
		if errors.Is(err, io.EOF) {
			return calls, nil
		}
		if err != nil {
			return nil, fmt.Errorf("call %d: %w", len(calls)+1, err)
		}
		calls = append(calls, c)
	}
}

// readsInput says that a tool reads its standard input to the end. Other tools leave it alone, and it may never end.
func readsInput(argv []string) bool {
	name := path.Base(argv[0])
	switch {
	case strings.HasSuffix(name, "-restore"):
		return !namesFile(argv[1:])
	case name == "ipset":
		return readsSets(argv[1:])
	case name == "nft":
		return readsCommands(argv[1:])
	}
	return false
}

// readsCommands says that nft reads commands: by -f, which may stand behind other letters, or --file, with - or /dev/stdin as the file.
func readsCommands(args []string) bool {
	isInput := func(name string) bool { return name == "-" || name == "/dev/stdin" }
	for i, arg := range args {
		option, file, attached := strings.Cut(arg, "=")
		if attached && option == "--file" && isInput(file) {
			return true
		}
		short := strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.HasSuffix(arg, "f")
		if (short || arg == "--file") && i+1 < len(args) && isInput(args[i+1]) {
			return true
		}
	}
	return false
}

// namesFile says that among the arguments of iptables-restore there is a file to read.
func namesFile(args []string) bool {
	takesValue := map[string]bool{"-T": true, "--table": true, "-M": true, "--modprobe": true}
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case takesValue[arg]:
			i++
		case (arg == "-w" || arg == "--wait" || arg == "-W" || arg == "--wait-interval") && i+1 < len(args) && isNumber(args[i+1]):
			i++
		case !strings.HasPrefix(arg, "-"):
			return true
		}
	}
	return false
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// readsSets says that ipset reads commands.
func readsSets(args []string) bool {
	reads := false
	for _, arg := range args {
		switch arg {
		case "restore", "-R", "--restore", "-":
			reads = true
		case "-f", "-file", "--file":
			return false
		}
	}
	return reads
}
