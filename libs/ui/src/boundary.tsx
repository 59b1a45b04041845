import { Component, type ComponentChildren } from 'preact';
import { Notice } from './notice.js';
import type { Place } from './place.js';
import { NoSuchPath } from './request.js';

interface BoundaryProps {
  /** The place that is shown: the next one is tried again. */
  readonly at: Place;
  readonly children: ComponentChildren;
}

interface Failed {
  readonly at?: Place;
  readonly error?: unknown;
}

/** Keeps the fault of one screen to that screen: the frame stays, and the next place is shown. */
export class Boundary extends Component<BoundaryProps, Failed> {
  override componentDidCatch(error: unknown): void {
    this.setState({ at: this.props.at, error });
  }

  render() {
    const { at, error } = this.state;
    if (at !== this.props.at) return this.props.children;
    if (error instanceof NoSuchPath) return <h1>There is no such page</h1>;
    return (
      <Notice kind="bad" title="This page met a fault">
        <p>Load it again, or go on to another.</p>
      </Notice>
    );
  }
}
