# Renders an interactive app as OnDemand's dashboard does, and prints JSON: `submit`, what submit.yml.erb gives; `view`,
# what view.html.erb gives. With the directory of ood_core in BERTH_OOD_CORE, its Kubernetes adapter submits the app:
# `objects` is what it hands to kubectl.
#
# usage: ruby render-app.rb APP FORM CONNECTION JOB (three times JSON: the user's choices, host and port, the cluster's job)
require 'erb'
require 'etc'
require 'json'
require 'open3'
require 'ostruct'
require 'tmpdir'
require 'yaml'

app, form, connection, job = ARGV
of = ->(json) { OpenStruct.new(JSON.parse(json)) }
render = lambda do |file, struct|
  text = File.read(File.join(app, file))
  ERB.new(text, trim_mode: '-').result(struct.instance_eval { binding })
end

%w[manifest.yml form.yml].each { |file| YAML.safe_load(File.read(File.join(app, file))) }
submit = JSON.parse(YAML.safe_load(render.call('submit.yml.erb', of.call(form))).to_json, symbolize_names: true)
result = { submit: submit, view: render.call('view.html.erb', of.call(connection)) }

if (core = ENV['BERTH_OOD_CORE'])
  # What the adapter does not use of what ood_core loads.
  module Kernel
    alias_method :require_before, :require
    def require(name) = %w[fog/openstack ood_support].include?(name) ? false : require_before(name)
  end
  $LOAD_PATH.unshift(File.join(core, 'lib'))
  require 'ood_core'
  Dir.mktmpdir do |directory|
    kubectl = File.join(directory, 'kubectl')
    File.write(kubectl, "#!/bin/sh\nexec cat >#{directory}/objects.yml\n", perm: 0o700)
    config = JSON.parse(job).merge('adapter' => 'kubernetes', 'bin' => kubectl)
    adapter = OodCore::Cluster.new(id: 'test', job: config).job_adapter
    # The adapter adds to what it is given.
    script = Marshal.load(Marshal.dump(submit[:script]))
    adapter.submit(OodCore::Job::Script.new(**script, content: "#!/bin/bash\n"))
    result.merge!(objects: File.read("#{directory}/objects.yml"), version: OodCore::VERSION)
  end
end
puts result.to_json
