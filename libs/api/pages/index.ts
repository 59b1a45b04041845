// Owns how the built pages for people reach a browser: which files there are, and their headers.
// Guarantees that a page runs no script but its own, calls no other origin, is framed by listed origins only, and costs
// the process no memory until it is asked for.
// Leaves to the apps the routes and who may frame a page, and to `ui` what the pages show.
export { Page, type Served } from './page.js';
