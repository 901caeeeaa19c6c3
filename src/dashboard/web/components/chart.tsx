import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import type { ThroughputView } from '../../views';
import { coarse } from '../format';
import { systemTheme, theme } from '../theme';

const HEIGHT = 220;
const SERIES = [
  { label: 'Started', color: '--running' },
  { label: 'Completed', color: '--completed' },
  { label: 'Failed', color: '--failed' },
] as const;

/** Instances per stretch of time. The figures are in the legend, too, for who cannot see the lines. */
export function ThroughputChart({ data }: { data: ThroughputView }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  const columns = columnsOf(data);
  const latest = useRef(columns);
  latest.current = columns;

  useEffect(() => {
    const target = place.current;
    if (!target) return;
    const draw = () => {
      plot.current?.destroy();
      plot.current = new uPlot(optionsFor(target.clientWidth), latest.current, target);
    };
    draw();
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: target.clientWidth, height: HEIGHT }));
    observer.observe(target);
    return () => {
      observer.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [theme.value, systemTheme.value]);
  useEffect(() => plot.current?.setData(columns), [data]);

  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  return (
    <>
      <div class="legend">
        {SERIES.map(({ label }, index) => (
          <span key={label} class={`legend-item s${index}`}>
            <span class="legend-mark" aria-hidden="true" />
            {label} <strong>{sum([data.started, data.completed, data.failed][index] ?? [])}</strong>
          </span>
        ))}
        <span class="grow" />
        <span class="quiet">
          the last {coarse(data.bucketMs * data.atMs.length)}, per {coarse(data.bucketMs)}
        </span>
      </div>
      <div ref={place} class="chart" role="img" aria-label="Instances started, completed and failed over time" />
      {data.partialBeforeMs !== null && (
        <p class="note">Read off the newest {data.sampleSize} instances; older ones are not in the picture.</p>
      )}
    </>
  );
}

function columnsOf(data: ThroughputView): uPlot.AlignedData {
  return [data.atMs.map((ms) => ms / 1_000), [...data.started], [...data.completed], [...data.failed]];
}

function optionsFor(width: number): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: color('--quiet'),
    font: '12px Inter, system-ui, sans-serif',
    grid: { stroke: color('--line-soft'), width: 1 },
    ticks: { show: false },
  };
  const step = uPlot.paths.stepped?.({ align: 1 });
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { points: { size: 6 }, drag: { x: false, y: false } },
    padding: [12, 8, 0, 0],
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(4, Math.ceil(max * 1.15))] } },
    axes: [
      { ...axis, grid: { show: false }, size: 28, values: (_plot, at) => at.map(clockText), space: 70 },
      { ...axis, size: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000] },
    ],
    series: [
      {},
      ...SERIES.map((series, index) => ({
        label: series.label,
        stroke: color(series.color),
        fill: `${color(series.color)}${index === 0 ? '00' : '1f'}`,
        width: 2,
        points: { show: false },
        ...(step ? { paths: step } : {}),
      })),
    ],
  };
}

function clockText(seconds: number): string {
  return new Date(seconds * 1_000)
    .toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
    .replace(/:00$/, '');
}
