# Renders the widget as the dashboard would, which has OodAppkit: here, a stand-in with the clusters of the first argument.
# usage: ruby render-widget.rb CLUSTERS (JSON: the cluster's job by its name) WIDGET
require 'erb'
require 'json'

Cluster = Struct.new(:id, :job_config)
module OodAppkit
  def self.clusters
    JSON.parse(ARGV[0], symbolize_names: true).map { |id, job| Cluster.new(id, { adapter: 'kubernetes' }.merge(job)) }
  end
end
print ERB.new(File.read(ARGV[1]), trim_mode: '-').result(Object.new.instance_eval { binding })
