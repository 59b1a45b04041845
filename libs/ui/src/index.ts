// Owns what the pages for people are built of: the frame, places in the address, tables, fields, questions before a change,
// times in the reader's zone, somebody else's text shown as text, and calls of an API typed by its document.
// Guarantees that no text becomes markup, that every call can be printed as a line of curl without its credential, and that
// all of it works by keyboard and has names for screen readers.
// Leaves to the pages what is shown, and to `pages` how files reach a browser. Runs in browsers only.
export { Api, nextCursor, type AnswerOf, type Answered, type InputOf } from './api.js';
export { ask, forgetAsked, say, type Question, type Saying } from './ask.js';
export { relayNow } from './clock.js';
export { ChoiceField, SeveralField, TextField } from './fields.js';
export { forgetLoaded, useLoad, type Load } from './load.js';
export { Loaded } from './loaded.js';
export { Badge, Empty, Notice, type Kind } from './notice.js';
export { fragmentOf, type Place } from './place.js';
export { Refused, waitOf, wordsOf } from './refused.js';
export { follow, go, place, refine, replace } from './router.js';
export { Link, Screen, Shell, type Section } from './shell.js';
export { Facts, Table, type Column } from './table.js';
export { Time } from './time.js';
export { bytesText, countOf, countText, distanceText, durationText, timeText } from './times.js';
export { forgetTyped, guardTyped } from './typed.js';
export { Copy, Curl, Viewer } from './viewer.js';
