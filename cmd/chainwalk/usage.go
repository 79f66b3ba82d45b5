package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chainwalk/chainwalk/internal/document"
)

// noArgs refuses arguments. Of a command with commands below it an argument is one of them, misspelt.
func noArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case !cmd.HasAvailableSubCommands():
		return fmt.Errorf("%sunknown argument %q: it takes none", pathOf(cmd), args[0])
	}
	var known []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			known = append(known, sub.Name())
		}
	}
	return fmt.Errorf("%sunknown command %q%s", pathOf(cmd), args[0], document.Suggest(args[0], known))
}

// someArgs wants at least one argument, of a name.
func someArgs(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%sno %s is given", pathOf(cmd), name)
		}
		return nil
	}
}

// pathOf is what begins an error of a command below the root: "fuzz merge: ".
func pathOf(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return ""
	}
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().DisplayName()+" ") + ": "
}

// needFlags refuses a command line without a flag that the command cannot do without, and says what to give.
func needFlags(cmd *cobra.Command, _ []string) error {
	var missing []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, needed := f.Annotations[cobra.BashCompOneRequiredFlag]; needed && !f.Changed {
			missing = append(missing, missingFlag(f))
		}
	})
	if len(missing) == 0 || cmd.DisableFlagParsing {
		return nil
	}
	return errors.New(strings.Join(missing, "\n"))
}

// missingFlag says that a flag is missing, and what to give.
func missingFlag(f *pflag.Flag) string {
	return fmt.Sprintf("%s is missing: give the %s", flagName(f), f.Usage)
}

// flagName is the short name of a flag, with the long one beside it.
func flagName(f *pflag.Flag) string {
	if f.Shorthand == "" {
		return "--" + f.Name
	}
	return "-" + f.Shorthand + " (--" + f.Name + ")"
}

// flagError says what is wrong with a flag in the words of the command line rather than in those of Go.
func flagError(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	var empty *pflag.ValueRequiredError
	switch {
	case errors.As(err, &invalid):
		return valueError(invalid)
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				known = append(known, "--"+f.Name)
			}
		})
		return fmt.Errorf("%w%s", err, document.Suggest("--"+unknown.GetSpecifiedName(), known))
	case errors.As(err, &empty):
		return fmt.Errorf("%s needs a value: give the %s", flagName(empty.GetFlag()), empty.GetFlag().Usage)
	}
	return err
}

// valueError says which values a flag takes.
func valueError(err *pflag.InvalidValueError) error {
	flag, value := err.GetFlag(), err.GetValue()
	var number *strconv.NumError
	switch kind := flag.Value.Type(); {
	case kind == "duration":
		return fmt.Errorf("--%s %s: want a time with its unit, such as 30s%s", flag.Name, value, document.SuggestTime(value))
	case !errors.As(err, &number):
		return err
	case kind == "bool":
		return fmt.Errorf("--%s=%s: want true or false", flag.Name, value)
	case strings.HasPrefix(kind, "float"):
		return fmt.Errorf("--%s %s: want a number", flag.Name, value)
	case errors.Is(number.Err, strconv.ErrRange):
		return fmt.Errorf("--%s %s: the number is too small or too large", flag.Name, value)
	case strings.HasPrefix(kind, "uint"):
		return fmt.Errorf("--%s %s: want a whole number, at least 0", flag.Name, value)
	default:
		return fmt.Errorf("--%s %s: want a whole number", flag.Name, value)
	}
}
