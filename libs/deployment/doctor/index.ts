// Owns the checks of a relay's stores and keys. Each finding has a severity, says what is wrong, and how to fix it.
// Guarantees that an examination changes nothing, that a check that cannot run is reported and does not stop the others, and
// that no finding contains a secret. Leaves the settings of single processes and the presentation of findings to its users,
// `relay doctor` and the operations app.
export { type Condition, REDIS_CONDITIONS, TOPIC_CONDITIONS } from './conditions.js';
export { examine } from './examine.js';
export { Away, fault, type Finding, ok, orFault, summaryOf, warning } from './finding.js';
export { isDispensable, type KeyUse, useFix, usesOf, useText } from './store-checks.adapter.js';
export { lossOf, TOKEN } from './loss.adapter.js';
