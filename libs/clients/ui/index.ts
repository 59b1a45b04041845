// Owns what the pages for people are built of: the frame, places in the address, tables, fields, questions before a change,
// times in the reader's zone, somebody else's text shown as text, and calls of an API typed by its document.
// Guarantees that no text becomes markup, that every call can be printed as a line of curl without its credential, and that
// all of it works by keyboard and has names for screen readers.
// Leaves to the pages what is shown, and to `pages` how files reach a browser. Runs in browsers only.
export { Api, given, nextCursor, type AnswerOf, type InputOf } from './api.js';
export { ask, forgetAsked, forgetTyped, guardTyped, say, type Saying } from './ask.js';
export { ChoiceField, SeveralField, TextField, type Choices } from './fields.js';
export { forgetLoaded, Loaded, useLoad, useTry } from './load.js';
export { Badge, Button, Empty, Facts, Fault, Notice, Table, type Kind } from './parts.js';
export { follow, fragmentOf, go, pageFrom, place, refine, replace, useFilters } from './place.js';
export { Refused, waitOf, wordsOf } from './request.js';
export { Link, Screen, Shell } from './shell.js';
export { countOf, countText, distanceText, durationText, relayNow, Time } from './times.js';
export { Copy, Curl, Viewer } from './viewer.js';
