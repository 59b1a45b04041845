// Owns the parts of which the web pages are built: the frame, routes in the address, tables, fields, confirmations before a
// change, times in the user's time zone, safe display of foreign text, and calls of an API that are typed by its OpenAPI
// document. Guarantees that no text is interpreted as markup, that every call can be shown as a curl command without its
// credential, and that everything can be used with the keyboard and has names for screen readers. Leaves to the apps what
// the pages show, and to `pages` how the files reach a browser. This code runs in browsers only.
export { Api, given, nextCursor, type AnswerOf, type InputOf } from './api.js';
export { ask, forgetAsked, forgetTyped, guardTyped, say, type Saying } from './ask.js';
export { AttemptsChart } from './attempts-chart.js';
export { Chart, type Series } from './chart.js';
export { Copy, Curl, Id, shortId } from './copy.js';
export { Drawer } from './drawer.js';
export { ChoiceField, SeveralField, TextField, type Choices } from './fields.js';
export { Icon, type IconName } from './icons.js';
export { forgetLoaded, Loaded, useLoad, useTry } from './load.js';
export { Address, Badge, Button, Empty, Facts, Fault, Notice, partsOfUrl, Table, type Kind } from './parts.js';
export { follow, fragmentOf, go, pageFrom, place, refine, replace, useFilters } from './place.js';
export { Refused, waitOf, wordsOf } from './request.js';
export { Link, Screen, Shell } from './shell.js';
export { clockText, countOf, countText, distanceText, durationText, relayNow, Time } from './times.js';
export { Viewer } from './viewer.js';
