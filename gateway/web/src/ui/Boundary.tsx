import { Component, type ReactNode } from 'react';

/**
 * Holds a fault where it happened: one panel or one part is replaced by `fallback`, the rest of the page goes on.
 * A change of `resetKey` (new data, usually) gives the part another chance.
 */
export class Boundary extends Component<
  { fallback: ReactNode; resetKey?: unknown; children: ReactNode },
  { broken: boolean }
> {
  override state = { broken: false };

  static getDerivedStateFromError() {
    return { broken: true };
  }

  override componentDidCatch(error: unknown): void {
    console.warn('covel: a part of the page could not be drawn', error);
  }

  override componentDidUpdate(before: { resetKey?: unknown }): void {
    if (this.state.broken && before.resetKey !== this.props.resetKey) this.setState({ broken: false });
  }

  override render(): ReactNode {
    return this.state.broken ? this.props.fallback : this.props.children;
  }
}
