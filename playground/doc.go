// Package playground has the tests of the playground in a real browser (make playground-test). The page itself is in web. The programs that
// answer it are rules and cluster, which run as WebAssembly behind worker. site and bundle build the folder that is served (make
// playground).
package playground
