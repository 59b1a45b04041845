// Owns how the built web pages reach a browser: which files there are, their headers, and the theme.
// Guarantees that a page runs only its own scripts, calls only its own origin, is framed only by listed origins, and uses no
// memory of the process until it is requested.
// Leaves to the apps the routes and who may frame a page, and to `ui` what the pages show.
export { Page, type Served } from './page.js';
export { readTheme, type Theme } from './theme.js';
