// Command bundle joins the playground's modules to one file each for the page and its worker: bundle WEB STYLES OUT. It is a module of its
// own, so that nobody who uses chainwalk downloads esbuild.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: bundle WEB STYLES OUT (STYLES has page.css, the style sheet of a trace's page)")
		os.Exit(2)
	}
	if !bundled(os.Args[1], os.Args[2], os.Args[3]) {
		os.Exit(1)
	}
}

// bundled writes the files, and says what is wrong on standard error.
func bundled(web, styles, out string) bool {
	styles, err := filepath.Abs(filepath.Join(styles, "page.css"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		return false
	}
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{
			filepath.Join(web, "early.js"), filepath.Join(web, "main.js"), filepath.Join(web, "worker.js"), filepath.Join(web, "style.css"),
		},
		Outdir:  out,
		Bundle:  true,
		Write:   true,
		Format:  api.FormatESModule,
		Target:  api.ES2022,
		Alias:   map[string]string{"page.css": styles},
		Loader:  map[string]api.Loader{".css": api.LoaderCSS},
		Plugins: []api.Plugin{textOf(styles)},

		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		LegalComments:     api.LegalCommentsLinked,
		LogLevel:          api.LogLevelWarning,
	})
	return len(result.Errors) == 0
}

// textOf has a style sheet imported as its text.
func textOf(file string) api.Plugin {
	return api.Plugin{Name: "text", Setup: func(build api.PluginBuild) {
		build.OnLoad(api.OnLoadOptions{Filter: `page\.css$`}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
			text, err := os.ReadFile(file)
			contents := string(text)
			return api.OnLoadResult{Contents: &contents, Loader: api.LoaderText}, err
		})
	}}
}
